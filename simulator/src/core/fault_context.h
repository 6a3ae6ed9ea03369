// SPDX-License-Identifier: Apache-2.0
// What a signal's context and the stack under it say about the place that it interrupted. Reading the context is all
// that depends on the processor.
#pragma once

#include <cstdint>

#include "core/loaded_code.h"

namespace ascend_attention::sim {

enum class FaultAccess : std::uint8_t { kUnknown, kRead, kWrite, kFetch };

std::uint64_t ProgramCounter(const void* context);
std::uint64_t StackPointer(const void* context);
// Where a function returns to that has not done anything yet.
std::uint64_t ReturnAddress(const void* context);
FaultAccess AccessOf(const void* context);

// The calls from where a signal interrupted, innermost first, up to the first in the kernel's or the machine's code.
struct CallChain {
    const LaunchCode* code;
    std::uint64_t pc;  // where the signal interrupted: frames before it are the handler's own
    bool begun = false;
    std::uint64_t outermost_foreign = 0;
    std::uint64_t device = 0;
    bool machine = false;
};

// Walks a stack that may be in any state: what faults meanwhile is for the caller to catch.
CallChain WalkCalls(const LaunchCode& code, std::uint64_t pc);

// Whether the outermost call that is neither the kernel's nor the machine's is one of the allocator. One that has found
// the heap broken holds its lock; ended there, every later allocation would hang.
bool InAllocator(const CallChain& chain);

}  // namespace ascend_attention::sim
