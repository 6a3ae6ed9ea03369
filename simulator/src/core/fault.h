// SPDX-License-Identifier: Apache-2.0
// What device code does to the processor: a fault inside it, or a loop that never calls the machine, ends its fiber and
// not the process. While fibers run, signal handlers on a stack of their own decide: a fault of device code leaves the
// fiber with a description of what happened; any other goes to whoever handled it before.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

#include "core/core.h"
#include "core/fault_context.h"
#include "core/loaded_code.h"

namespace ascend_attention::sim {

class Fiber;

enum class FaultKind : std::uint8_t { kMemory, kStackOverflow, kArithmetic, kInstruction, kAbort, kStall };

struct Fault {
    FaultKind kind = FaultKind::kMemory;
    FaultAccess access = FaultAccess::kUnknown;
    bool wild = false;  // the address is none at all, so the processor does not tell it
    bool is_protected = false;
    int signal = 0;
    std::uint64_t address = 0;
    // Where it happened; `device_pc` is the innermost place in device code, 0 when there is none.
    std::uint64_t pc = 0;
    std::uint64_t device_pc = 0;
};

// Keeps the handlers installed while one lives. Several launches share them.
class FaultHandlers {
public:
    FaultHandlers();
    ~FaultHandlers();
    FaultHandlers(const FaultHandlers&) = delete;
    FaultHandlers& operator=(const FaultHandlers&) = delete;
};

// Prepares this host thread for faults of the fibers it runs, and watches over them: when a core has issued no
// instruction for `stall_seconds` (infinite: never), its fiber ends. The watch is a timer that signals this thread, so
// it costs nothing per instruction, needs no thread, and does not survive a fork.
class ThreadGuard {
public:
    ThreadGuard(const LaunchCode& code, double stall_seconds);
    ~ThreadGuard();
    ThreadGuard(const ThreadGuard&) = delete;
    ThreadGuard& operator=(const ThreadGuard&) = delete;

    // Before each Resume of a fiber of `core`.
    void Enter(const Core& core) {
        core_ = &core;
        ++turns_;
        faulted_ = false;
    }
    // After it: the fault that ended the fiber, or null.
    const Fault* Taken() { return faulted_ ? &fault_ : nullptr; }

private:
    friend struct FaultHandling;
    void StartTimer(double period);
    void SetPeriod(double period);

    const LaunchCode& code_;
    const Core* core_ = nullptr;
    std::uint64_t turns_ = 0;
    Fault fault_;
    bool faulted_ = false;
    bool examining_ = false;  // a handler walks the stack, which may be in any state

    // Of the watch: what the last ticks have seen.
    double period_ = 0.0;
    int ticks_ = 0;
    std::uint64_t seen_turns_ = 0;
    std::uint64_t seen_instructions_ = 0;
    timer_t timer_{};
    bool has_timer_ = false;

    std::size_t stack_bytes_ = 0;
    std::unique_ptr<char[]> stack_;
    stack_t outer_stack_{};
    sigset_t outer_mask_{};
    ThreadGuard* outer_ = nullptr;
    bool active_ = false;
};

// Adds the finding about `fault` of `core`.
void ReportFault(Core& core, const LaunchCode& code, const Fault& fault, double stall_seconds);

// " at kernel.cpp:57 [vector.so+0x1a2b]": where the exception was thrown that `core` handles; "" when not known.
std::string ThrownAt(Core& core);

// ", after DataCopy (kernel.cpp:38)": the last call of a core, or nothing when it has made none.
std::string AfterCall(const Core& core);

}  // namespace ascend_attention::sim
