// SPDX-License-Identifier: Apache-2.0
// When everything happened, by the replay's reckoning, and why not earlier.
#pragma once

#include <array>
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
    kQueue,      // the same, and it had waited for a place in a queue: until `by` started
    kUnits,      // Mmad or Fixpipe: units of L0C that the other one, `by`, had not handed over
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
    bool ends_with = false;  // it could not end before units of L0C that `by` handed over
    StepRef by;

    double end() const { return start + occupancy; }
    double completion() const { return start + occupancy + tail; }
};

struct CoreTimeline {
    // As EventStream::steps. Instructions have times, and so has what the scalar unit waits for: a cross-core flag, a
    // flag set for it, an end of all pipes. A wait of another pipe has `by` only: who told it.
    std::vector<TimedStep> steps;
    double finish = 0;  // of the last result, and of the scalar unit
    StepRef last;       // what it waited for at its end
    Cause last_cause = Cause::kStart;
    std::array<double, kPipeCount> busy{};
    std::array<double, kPipeCount> own{};
};

struct Timeline {
    std::vector<CoreTimeline> cores;
    double cycles = 0;
    StepRef last;  // the end of the critical path
    Cause last_cause = Cause::kStart;
    MemoryTraffic traffic;
};

}  // namespace ascend_attention::sim
