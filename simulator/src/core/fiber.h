// SPDX-License-Identifier: Apache-2.0
// One core's program as a fiber. A fiber stays on the host thread that started it, so thread_local state of the machine
// library and of C++ (exception globals) needs no saving, as long as nothing switches while an exception is in flight.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ascend_attention::sim {

class Fiber {
public:
    explicit Fiber(std::function<void()> body);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the fiber until it yields or ends. `body` must not throw.
    void Resume();
    bool started() const { return started_; }
    bool finished() const { return finished_; }

    // Below this address, calls of the machine may no longer find the room they need.
    std::uint64_t StackLimit() const;
    // Whether an address lies in the guard area below the stack, or a stack pointer has left the stack downwards.
    bool IsGuard(std::uint64_t address) const;
    bool IsBelowStack(std::uint64_t stack_pointer) const;

    // Ends the fiber from a signal handler that runs on another stack: whatever it was doing, Resume returns. Nothing
    // is unwound.
    [[noreturn]] void Leave();

private:
    friend void YieldFiber();
    friend void AbandonFiber();
    static void Main(unsigned low, unsigned high);
    void SwitchOut(bool last);

    std::function<void()> body_;
    void* stack_;
    ucontext_t context_{};
    ucontext_t resumer_{};
    bool started_ = false;
    bool finished_ = false;
    bool abandoned_ = false;
    // AddressSanitizer's view of the two stacks.
    void* fake_stack_ = nullptr;
    void* resumer_fake_stack_ = nullptr;
    const void* resumer_bottom_ = nullptr;
    std::size_t resumer_size_ = 0;
    // ThreadSanitizer's.
    void* thread_fiber_ = nullptr;
    void* resumer_thread_fiber_ = nullptr;
};

// The fiber that this host thread runs, or null. Safe in a signal handler.
Fiber* RunningFiber();

// Gives the host thread back to whoever resumed the running fiber. Outside a fiber it does nothing.
void YieldFiber();

// Ends the running fiber without unwinding it and never returns; outside a fiber it returns. The last resort when an
// exception reaches a function that may not throw, such as a destructor of device code that waits for a flag.
void AbandonFiber();

}  // namespace ascend_attention::sim
