// SPDX-License-Identifier: Apache-2.0
// A recorded run in the Chrome trace format, as Perfetto reads it: a process for each core, a thread for each pipe.
#pragma once

#include <cstdint>

#include "timing/json_output.h"
#include "timing/trace_walk.h"

namespace ascend_attention::sim {

struct TraceCount {
    std::uint64_t events = 0;    // bars, and two for each arrow
    std::uint64_t left_out = 0;  // of the window, because of the bound
    std::int64_t cut = -1;       // nanosecond where the trace then ends
    std::uint64_t least = 0;     // the smallest bound that would keep anything, when this one keeps nothing
};

// Writes the window piece by piece. When it has more than `most_events`, it ends earlier, at the same time for all
// cores, and the text says so. Nothing is written when that would leave nothing.
ASCEND_SIM_API TraceCount WriteTrace(const RunRecord& record, const TraceWindow& window, std::uint64_t most_events,
                                     const TraceSink& sink);

}  // namespace ascend_attention::sim
