// SPDX-License-Identifier: Apache-2.0
// The discrete-event pass over what the cores did. Each core's scalar unit issues its steps in order into the queues of
// its pipes; pipes work through their queues at their own pace, so that a later store may start before an earlier load
// that waits; L2 and HBM serve transfers in the order of their starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timing/cost_table.h"
#include "timing/event_stream.h"
#include "timing/memory_system.h"
#include "timing/timeline.h"

namespace ascend_attention::sim {

constexpr std::size_t kCrossFlags = 16;  // counters of a core

// A core of the launch, as cross-core flags see it.
struct ReplayCore {
    const EventStream* stream = nullptr;
    std::uint32_t block = 0;
    bool cube = false;
};

struct ReplaySettings {
    const CostTable* costs = nullptr;
    Assumption assumption = Assumption::kMiddle;
    double clock_hz = 0;   // of the SoC
    double hbm_share = 1;  // of the figure in the table: some SoCs have half
    std::uint64_t l2_bytes = 0;
    bool keep_steps = true;  // CoreTimeline::steps: they take 32 bytes each
};

// In cycles of the SoC.
MemoryFigures ReadMemoryFigures(const ReplaySettings& settings);

// Deterministic. Throws std::invalid_argument when the streams cannot be replayed to their end.
Timeline Replay(const std::vector<ReplayCore>& cores, const ReplaySettings& settings);

}  // namespace ascend_attention::sim
