// SPDX-License-Identifier: Apache-2.0
// What timed mode predicts for one launch.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "timing/critical_path.h"
#include "timing/record.h"
#include "timing/summary.h"

namespace ascend_attention::sim {

class Machine;

struct CoreTime {
    std::string name;
    double finish = 0;
    std::array<double, kPipeCount> busy{};  // cycles that each pipe was taken
};

struct TimingResult {
    std::shared_ptr<KeptRecord> record;  // streams, cores and the timeline of the middle assumption
    std::array<TimingSummary, 3> summaries;
    CriticalPath path;  // this and the rest: middle assumption
    Roofline roofline;
    std::vector<CoreTime> cores;
    CostSource costs = CostSource::kMeasured;
    double clock_hz = 0;
};

// After the cores have run: an error in the machine's log when they synchronised through global memory.
void RefuseMemoryWords(Machine& machine);

// Replays what the cores have recorded, on up to `threads` host threads. The result does not depend on them.
TimingResult PredictTime(Machine& machine, CostSource source, int threads);

}  // namespace ascend_attention::sim
