// SPDX-License-Identifier: Apache-2.0
#include "core/fault.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <mutex>

#include "core/fiber.h"
#include "core/sanitizers.h"

// Reading the program counter out of a signal's context is all that depends on the processor.
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define ASCEND_SIM_GUARDS 1
#endif

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace ascend_attention::sim {

namespace {

#ifdef ASCEND_SIM_GUARDS
constexpr bool kGuards = true;
#else
constexpr bool kGuards = false;
#endif

// A stall is so many ticks of the timer in a row. Counting ticks and not seconds keeps a process that was stopped, by a
// debugger for instance, from stalling when it goes on.
constexpr int kStallTicks = 8;
// A loop that calls into other libraries is best ended while it is in its own code, where it holds no lock of theirs:
// so often the watch tries, at this period, before it takes what it finds.
constexpr int kRetries = 400;
constexpr double kRetryPeriod = 0.005;
constexpr double kLongestStall = 1e9;  // seconds; more may not fit the timer's type
// Nobody waits for it and its default is to be ignored, so that a late tick is harmless.
constexpr int kTickSignal = SIGURG;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, kTickSignal};
constexpr int kSignalCount = static_cast<int>(sizeof kSignals / sizeof kSignals[0]);

thread_local ThreadGuard* current __attribute__((tls_model("initial-exec"))) = nullptr;

struct sigaction previous[kSignalCount];

FaultKind KindOf(int signal) {
    switch (signal) {
        case SIGFPE:
            return FaultKind::kArithmetic;
        case SIGILL:
        case SIGTRAP:
            return FaultKind::kInstruction;
        case SIGABRT:
            return FaultKind::kAbort;
        default:
            return FaultKind::kMemory;
    }
}

int IndexOf(int signal) {
    for (int i = 0; i < kSignalCount; ++i) {
        if (kSignals[i] == signal) {
            return i;
        }
    }
    return 0;
}

// What would have happened without us.
void Chain(int signal, siginfo_t* info, void* context) {
    const struct sigaction& action = previous[IndexOf(signal)];
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, info, context);
        return;
    }
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
        action.sa_handler(signal);
        return;
    }
    if (signal == kTickSignal || (action.sa_handler == SIG_IGN && info->si_code <= 0)) {
        return;
    }
    // The instruction faults again and ends the process as it would have; what was sent has to be sent again.
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    if (info->si_code <= 0 || signal == SIGTRAP) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, signal);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        raise(signal);
    }
}

// Of the running instruction itself, or raised by this process (abort is that too); not sent from elsewhere.
bool IsOwnFault(int signal, const siginfo_t& info) {
    const bool raised = info.si_code == SI_TKILL && info.si_pid == getpid();
    return raised || (signal != SIGABRT && info.si_code > 0);
}

}  // namespace

// What the signal handlers do with a ThreadGuard.
struct FaultHandling {
    static void Handle(int signal, siginfo_t* info, void* context) {
        const int saved_errno = errno;
        ThreadGuard* guard = current;
        Fiber* fiber = RunningFiber();
        if (signal == kTickSignal) {
            if (info->si_code != SI_TIMER || guard == nullptr || info->si_value.sival_ptr != guard) {
                Chain(signal, info, context);
            } else if (fiber != nullptr) {
                Tick(*guard, *fiber, context);
            }
        } else if (guard == nullptr || fiber == nullptr || guard->core_ == nullptr || !IsOwnFault(signal, *info)) {
            Chain(signal, info, context);
        } else {
            OwnFault(*guard, *fiber, signal, info, context);
        }
        errno = saved_errno;
    }

private:
    static void OwnFault(ThreadGuard& guard, Fiber& fiber, int signal, siginfo_t* info, void* context) {
        if (guard.examining_) {  // the stack was not fit to be walked
            Leave(guard, fiber);
        }
        Fault& fault = guard.fault_;
        fault = Fault{};
        const bool raised = info->si_code <= 0;
        fault.kind = raised ? FaultKind::kAbort : KindOf(signal);
        fault.signal = signal;
        fault.wild = info->si_code == SI_KERNEL;
        fault.is_protected = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
        fault.pc = ProgramCounter(context);
        if (!raised && (signal == SIGSEGV || signal == SIGBUS)) {
            fault.address = reinterpret_cast<std::uint64_t>(info->si_addr);
            fault.access = AccessOf(context);
            if (fiber.IsGuard(fault.address) || fiber.IsBelowStack(StackPointer(context))) {
                fault.kind = FaultKind::kStackOverflow;
            }
        }
        const CallChain chain = Walk(guard, fault.pc);
        fault.device_pc = chain.device;
        if (chain.device == 0 && fault.pc == fault.address && fault.kind == FaultKind::kMemory) {
            const std::uint64_t caller = ReturnAddress(context) - 1;  // a call of what is no function
            fault.device_pc = guard.code_.Device(caller) != nullptr ? caller : 0;
        }
        if ((signal == SIGABRT || signal == SIGSEGV) && InAllocator(chain)) {
            Chain(signal, info, context);
            return;
        }
        Leave(guard, fiber);
    }

    static void Tick(ThreadGuard& guard, Fiber& fiber, void* context) {
        if (guard.core_ == nullptr) {
            return;
        }
        const std::uint64_t instructions = guard.core_->instruction_total();
        if (guard.seen_turns_ != guard.turns_ || guard.seen_instructions_ != instructions) {
            guard.seen_turns_ = guard.turns_;
            guard.seen_instructions_ = instructions;
            if (guard.ticks_ >= kStallTicks) {
                guard.SetPeriod(guard.period_);
            }
            guard.ticks_ = 0;
            return;
        }
        ++guard.ticks_;
        if (guard.ticks_ < kStallTicks) {
            return;
        }
        const std::uint64_t pc = ProgramCounter(context);
        std::uint64_t device_pc = guard.code_.Device(pc) != nullptr ? pc : 0;
        if (device_pc == 0) {
            if (guard.ticks_ == kStallTicks) {
                guard.SetPeriod(std::min(kRetryPeriod, guard.period_));
            }
            if (guard.ticks_ < kStallTicks + kRetries) {
                return;
            }
            const CallChain chain = Walk(guard, pc);
            if (chain.machine || chain.device == 0) {
                // One instruction of the machine takes long, or waits for the reader of its output. Its locks forbid to
                // end it here, and it will come to an end.
                guard.ticks_ = 0;
                guard.SetPeriod(guard.period_);
                return;
            }
            device_pc = chain.device;
        }
        guard.fault_ = Fault{};
        guard.fault_.kind = FaultKind::kStall;
        guard.fault_.pc = pc;
        guard.fault_.device_pc = device_pc;
        Leave(guard, fiber);
    }

    static CallChain Walk(ThreadGuard& guard, std::uint64_t pc) {
        if (guard.code_.Device(pc) != nullptr) {
            CallChain chain{&guard.code_, pc};
            chain.device = pc;
            return chain;
        }
        guard.examining_ = true;
        const CallChain chain = WalkCalls(guard.code_, pc);
        guard.examining_ = false;
        return chain;
    }

    [[noreturn]] static void Leave(ThreadGuard& guard, Fiber& fiber) {
        guard.examining_ = false;
        guard.faulted_ = true;
        AllowMemory(guard.stack_.get(), guard.stack_bytes_);  // frames that are not left either
        fiber.Leave();
    }
};

namespace {

std::mutex& HandlersMutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
}
int handlers_users = 0;

bool IsOurs(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &FaultHandling::Handle;
}

}  // namespace

FaultHandlers::FaultHandlers() {
    const std::lock_guard<std::mutex> lock(HandlersMutex());
    if (!kGuards || handlers_users++ != 0) {
        return;
    }
    for (int i = 0; i < kSignalCount; ++i) {
        struct sigaction now{};
        sigaction(kSignals[i], nullptr, &now);
        if (IsOurs(now)) {
            continue;  // somebody has saved ours during an earlier launch and put it back
        }
        previous[i] = now;
        struct sigaction action{};
        action.sa_sigaction = &FaultHandling::Handle;
        // A second fault, while the first is looked into, must arrive too.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(kSignals[i], &action, nullptr);
    }
}

FaultHandlers::~FaultHandlers() {
    const std::lock_guard<std::mutex> lock(HandlersMutex());
    if (!kGuards || --handlers_users != 0) {
        return;
    }
    for (int i = 0; i < kSignalCount; ++i) {
        struct sigaction now{};
        sigaction(kSignals[i], nullptr, &now);
        if (IsOurs(now)) {
            sigaction(kSignals[i], &previous[i], nullptr);
        }
    }
}

ThreadGuard::ThreadGuard(const LaunchCode& code, double stall_seconds) : code_(code) {
    if (!kGuards) {
        return;
    }
    // The kernel's own part depends on the processor's vector registers.
    std::size_t least = MINSIGSTKSZ;
#ifdef _SC_MINSIGSTKSZ
    least = std::max<std::size_t>(least, static_cast<std::size_t>(std::max(0L, sysconf(_SC_MINSIGSTKSZ))));
#endif
    stack_bytes_ = least + 64 * 1024;
    stack_.reset(new (std::nothrow) char[stack_bytes_]);
    stack_t stack{};
    stack.ss_sp = stack_.get();
    stack.ss_size = stack_bytes_;
    if (stack_ == nullptr || sigaltstack(&stack, &outer_stack_) != 0) {
        return;
    }
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : kSignals) {
        sigaddset(&mask, signal);
    }
    pthread_sigmask(SIG_UNBLOCK, &mask, &outer_mask_);
    outer_ = current;
    current = this;
    active_ = true;
    if (std::isfinite(stall_seconds)) {
        StartTimer(std::min(stall_seconds, kLongestStall) / kStallTicks);
    }
}

ThreadGuard::~ThreadGuard() {
    if (has_timer_) {
        timer_delete(timer_);
    }
    if (active_) {
        current = outer_;
        pthread_sigmask(SIG_SETMASK, &outer_mask_, nullptr);
        sigaltstack(&outer_stack_, nullptr);
    }
}

void ThreadGuard::StartTimer(double period) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTickSignal;
    event.sigev_value.sival_ptr = this;
    event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
    has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    period_ = std::max(period, 0.0005);
    SetPeriod(period_);
}

void ThreadGuard::SetPeriod(double period) {
    if (has_timer_) {
        itimerspec time{};
        time.it_interval.tv_sec = static_cast<time_t>(period);
        time.it_interval.tv_nsec = static_cast<long>((period - std::floor(period)) * 1e9);
        time.it_value = time.it_interval;
        timer_settime(timer_, 0, &time, nullptr);
    }
}

}  // namespace ascend_attention::sim
