// SPDX-License-Identifier: Apache-2.0
// What timed mode predicts for one launch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "timing/record.h"
#include "timing/replay.h"

namespace ascend_attention::sim {

class Machine;

// For one assumption about what nobody has published (Assumption).
struct TimingSummary {
    double cycles = 0;  // without the kernel's head
    double microseconds = 0;
    double head_microseconds = 0;
    std::array<double, kPipeCount> busiest{};  // cycles that the busiest core's pipe was taken
    std::array<double, kPipeCount> bound{};    // the same, had that pipe nothing to wait for
    double busiest_core = 0;                   // cycles until the last core ends, and the mean over cores
    double mean_core = 0;
    MemoryTraffic traffic;
    double cube_utilisation = 0;  // of the peak of all cube cores of the SoC, at the rate of the dtype multiplied
};

struct TimingResult {
    std::shared_ptr<KeptRecord> record;  // streams, cores and the timeline of the middle assumption
    std::array<TimingSummary, 3> summaries;
    double clock_hz = 0;
};

TimingResult PredictTime(Machine& machine, CostSource source);

}  // namespace ascend_attention::sim
