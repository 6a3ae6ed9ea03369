// SPDX-License-Identifier: Apache-2.0
#include "core/thrown.h"

#include <cxxabi.h>
#include <unwind.h>

#include "core/core.h"
#include "core/loaded_code.h"
#include "machine/personality.h"

namespace ascend_attention::sim {

namespace {

struct Walk {
    const LaunchCode* code;
    std::uint64_t from;  // frames up to this one are those that watch, and one may be in a library of device code
    bool begun = false;
    Throw found{};
    bool again = false;  // the last frame before device code was that of `throw;`
};

_Unwind_Reason_Code WalkFrame(_Unwind_Context* frame, void* argument) {
    Walk& walk = *static_cast<Walk*>(argument);
    Throw& found = walk.found;
    const auto pc = static_cast<std::uint64_t>(_Unwind_GetIP(frame));
    if (!walk.begun) {
        walk.begun = pc == walk.from;
        return _URC_NO_REASON;
    }
    const std::uint64_t call = pc - 1;
    if (walk.code->Device(call) != nullptr) {
        found.calls[found.call_count++] = call;
        return found.call_count == Throw::kMostCalls ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
    if (found.call_count != 0) {
        // The machine has called the kernel; between calls of the kernel may be those of other libraries.
        return walk.code->machine.Holds(call) ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
    walk.again = _Unwind_GetRegionStart(frame) == reinterpret_cast<_Unwind_Ptr>(&abi::__cxa_rethrow);
    return _URC_NO_REASON;
}

// How the C++ runtime keeps an exception; one of another language too. Fixed by the Itanium C++ ABI.
struct RuntimeException {
    const void* type;
    void (*destructor)(void*);
    void (*unexpected)();
    void (*terminate)();
    RuntimeException* next;
    int handler_count;
    int handler_switch_value;
    const void* action_record;
    const void* language_data;
    const void* landing_pad;
    void* object;
    _Unwind_Exception header;
};

}  // namespace

void ThrowLog::Thrown(const LaunchCode& code, const void* exception, const void* watcher) {
    Walk walk{&code, reinterpret_cast<std::uint64_t>(watcher)};
    walk.found.exception = exception;
    _Unwind_Backtrace(&WalkFrame, &walk);
    Throw* known = Find(exception);
    if (known != nullptr && walk.again && known->call_count != 0) {
        known->again = walk.found.calls[0];
        return;
    }
    if (known == nullptr) {
        known = &throws_[next_++ % throws_.size()];
    }
    *known = walk.found;
}

const Throw* ThrowLog::Handled() {
    // The first member of the runtime's state of this thread.
    const auto* innermost = *reinterpret_cast<RuntimeException**>(abi::__cxa_get_globals());
    return innermost == nullptr ? nullptr : Find(&innermost->header);
}

Throw* ThrowLog::Find(const void* exception) {
    for (Throw& known : throws_) {
        if (known.exception == exception) {
            return &known;
        }
    }
    return nullptr;
}

// Called by every frame on an exception's way that has handlers or destructors.
void WatchException(int actions, const void* exception) {
    // Only the search for a handler comes before the stack below is gone.
    if ((actions & _UA_SEARCH_PHASE) == 0 || !HasCurrentCore()) {
        return;
    }
    Core& core = CurrentCore();
    if (core.code != nullptr && !core.ending) {
        core.throws.Thrown(*core.code, exception, __builtin_return_address(0));
    }
}

}  // namespace ascend_attention::sim
