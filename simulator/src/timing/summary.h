// SPDX-License-Identifier: Apache-2.0
// What a replay comes to: the figures of timed mode's report.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "run/soc.h"
#include "timing/replay.h"

namespace ascend_attention::sim {

// Cycles that the launch would take if only this mattered: of the busiest core's pipe, every instruction with the
// shared memory to itself; of the memory, all bytes at the bandwidth of the whole device.
struct Bounds {
    std::array<double, kPipeCount> pipes{};
    double l2_reads = 0;
    double l2_writes = 0;
    double hbm = 0;
};

// For one assumption about what nobody has published (Assumption).
struct TimingSummary {
    double cycles = 0;  // without the kernel's head
    double microseconds = 0;
    double head_microseconds = 0;
    std::array<double, kPipeCount> busiest{};  // cycles that the busiest core's pipe was taken
    Bounds bounds;
    double busiest_core = 0;  // cycles until the last core ends, and the mean over cores
    double mean_core = 0;
    MemoryTraffic traffic;
    double cube_utilisation = 0;  // m * n * k of all products, of what all cube cores of the SoC could do
};

// Where the launch stands between the arithmetic peak of the SoC and its HBM.
struct Roofline {
    bool cube = false;  // of the cube cores; without products, of the vector cores
    double flop = 0;    // two per multiply-add of a product; one per lane of a vector instruction
    double peak = 0;    // flop per second of all cores of the SoC, at the rates of the dtypes used
    double hbm_bytes = 0;
    double hbm_rate = 0;  // bytes per second
    double seconds = 0;   // without the head
};

// What does not depend on the assumption: counted once.
struct WorkCount {
    double products = 0;        // multiply-adds of Mmad, m * n * k
    double product_slots = 0;   // multiply-adds that the cube makes of them, in whole fractals
    double product_cycles = 0;  // at one fractal product a cycle, or what the dtype allows
    double lanes = 0;           // of vector instructions
    double repeats = 0;
};
WorkCount CountWork(const std::vector<ReplayCore>& cores, const CostTable& costs);

TimingSummary Summarise(const Timeline& timeline, const WorkCount& work, const ReplaySettings& settings, const Soc& soc,
                        bool mix);
Roofline PlaceOnRoofline(const TimingSummary& summary, const WorkCount& work, const ReplaySettings& settings,
                         const Soc& soc);

}  // namespace ascend_attention::sim
