// SPDX-License-Identifier: Apache-2.0
// When everything happened, by the replay's reckoning, and why not earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/event_stream.h"
#include "timing/memory_system.h"

namespace ascend_attention::sim {

// What an instruction had to wait for last before it could start.
enum class Cause : std::uint8_t {
    kStart,      // nothing: the kernel's beginning
    kPipe,       // the instruction before it on its pipe
    kFlag,       // a SetFlag, or a barrier: `by` is the instruction whose completion it told
    kCrossFlag,  // a flag of another core
    kIssue,      // the scalar unit came to it late; `by` is what the scalar unit itself had waited for
};

struct StepRef {
    std::int32_t core = -1;  // -1: nothing
    std::uint32_t step = 0;
};

struct TimedStep {
    double start = 0;
    float occupancy = 0;  // cycles that the pipe was taken
    float own = 0;        // of these, what the instruction would take with the shared memory to itself
    float tail = 0;       // until the result is there
    Cause cause = Cause::kStart;
    StepRef by;

    double end() const { return start + occupancy; }
    double completion() const { return start + occupancy + tail; }
};

struct CoreTimeline {
    // As EventStream::steps. Instructions have times, and so has what the scalar unit waits for: a cross-core flag, a
    // flag set for it, an end of all pipes. A wait of another pipe has `by` only: who told it.
    std::vector<TimedStep> steps;
    double finish = 0;
    double cube_work = 0;  // cycles of products alone
    double busy[kPipeCount] = {};
    double own[kPipeCount] = {};
};

struct Timeline {
    std::vector<CoreTimeline> cores;
    double cycles = 0;
    MemoryTraffic traffic;
};

}  // namespace ascend_attention::sim
