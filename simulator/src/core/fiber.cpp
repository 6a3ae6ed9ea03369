// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/sanitizers.h"

namespace ascend_attention::sim {

namespace {

// Host code of an instruction runs on it too, so it is larger than the 32 KiB of the device. Only touched pages cost.
constexpr std::size_t kStackBytes = (kSanitized ? 2048 : 512) * 1024;
// Never touched, so it costs addresses only. Larger than a page because a frame with a large array can step over one.
constexpr std::size_t kGuardBytes = 1024 * 1024;

// Mappings with a guard area at the low end, kept between launches.
class StackPool {
public:
    void* Take() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!free_.empty()) {
                void* stack = free_.back();
                free_.pop_back();
                return stack;
            }
        }
        void* mapping = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED) {
            throw std::bad_alloc();
        }
        if (mprotect(mapping, kGuardBytes, PROT_NONE) != 0) {
            munmap(mapping, kGuardBytes + kStackBytes);
            throw std::bad_alloc();
        }
        return static_cast<char*>(mapping) + kGuardBytes;
    }

    void Give(void* stack) {
        const std::lock_guard<std::mutex> lock(mutex_);
        free_.push_back(stack);
    }

private:
    std::mutex mutex_;
    std::vector<void*> free_;
};

StackPool& Stacks() {
    static StackPool* pool = new StackPool;
    return *pool;
}

// Initial-exec, because a signal handler reads it: the general model may allocate on first use.
thread_local Fiber* running __attribute__((tls_model("initial-exec"))) = nullptr;

// What the C++ runtime knows about exceptions of this host thread. The layout is fixed by the Itanium C++ ABI, which
// both x86-64 and aarch64 follow.
struct ExceptionGlobals {
    void* caught;
    unsigned int uncaught;
};

ExceptionGlobals& CurrentExceptions() { return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals()); }

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(Stacks().Take()) {}

Fiber::~Fiber() {
    AllowMemory(stack_, kStackBytes);  // frames that were never left
#ifdef ASCEND_SIM_TSAN
    if (thread_fiber_ != nullptr) {
        __tsan_destroy_fiber(thread_fiber_);
    }
#endif
    Stacks().Give(stack_);
}

std::uint64_t Fiber::StackLimit() const { return reinterpret_cast<std::uint64_t>(stack_) + kStackBytes / 4; }

bool Fiber::IsGuard(std::uint64_t address) const {
    const auto stack = reinterpret_cast<std::uint64_t>(stack_);
    return address >= stack - kGuardBytes && address < stack;
}

bool Fiber::IsBelowStack(std::uint64_t stack_pointer) const {
    // The red zone of x86-64 lets a leaf touch 128 bytes below its stack pointer.
    constexpr std::uint64_t kRedZone = 128;
    const auto stack = reinterpret_cast<std::uint64_t>(stack_);
    return stack_pointer >= stack - kGuardBytes && stack_pointer < stack + kRedZone;
}

void Fiber::Main(unsigned low, unsigned high) {
    const std::uint64_t address = (static_cast<std::uint64_t>(high) << 32) | low;
    Fiber* fiber = reinterpret_cast<Fiber*>(address);
#ifdef ASCEND_SIM_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &fiber->resumer_bottom_, &fiber->resumer_size_);
#endif
    fiber->body_();
    fiber->finished_ = true;
    fiber->SwitchOut(true);
}

void Fiber::Resume() {
    Fiber* outer = std::exchange(running, this);
    const ExceptionGlobals exceptions = CurrentExceptions();
    if (!started_) {
        started_ = true;
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack_;
        context_.uc_stack.ss_size = kStackBytes;
        context_.uc_link = nullptr;
        const auto address = reinterpret_cast<std::uint64_t>(this);
        makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::Main), 2, static_cast<unsigned>(address),
                    static_cast<unsigned>(address >> 32));
    }
#ifdef ASCEND_SIM_ASAN
    __sanitizer_start_switch_fiber(&resumer_fake_stack_, stack_, kStackBytes);
#endif
#ifdef ASCEND_SIM_TSAN
    if (thread_fiber_ == nullptr) {
        thread_fiber_ = __tsan_create_fiber(0);
    }
    resumer_thread_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(thread_fiber_, 0);
#endif
    swapcontext(&resumer_, &context_);
#ifdef ASCEND_SIM_ASAN
    __sanitizer_finish_switch_fiber(resumer_fake_stack_, nullptr, nullptr);
#endif
    running = outer;
    if (abandoned_) {
        CurrentExceptions() = exceptions;  // its exception will never be handled
    }
}

void Fiber::SwitchOut(bool last) {
#ifdef ASCEND_SIM_ASAN
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, resumer_bottom_, resumer_size_);
#else
    (void)last;
#endif
#ifdef ASCEND_SIM_TSAN
    __tsan_switch_to_fiber(resumer_thread_fiber_, 0);
#endif
    swapcontext(&context_, &resumer_);
#ifdef ASCEND_SIM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &resumer_bottom_, &resumer_size_);
#endif
}

void Fiber::Leave() {
    finished_ = true;
    abandoned_ = true;
#ifdef ASCEND_SIM_ASAN
    __sanitizer_start_switch_fiber(nullptr, resumer_bottom_, resumer_size_);
#endif
#ifdef ASCEND_SIM_TSAN
    __tsan_switch_to_fiber(resumer_thread_fiber_, 0);
#endif
    setcontext(&resumer_);
    std::abort();  // setcontext does not return
}

Fiber* RunningFiber() { return running; }

void AbandonFiber() {
    if (running != nullptr) {
        running->finished_ = true;
        running->abandoned_ = true;
        running->SwitchOut(true);
    }
}

void YieldFiber() {
    if (running != nullptr) {
        running->SwitchOut(false);
    }
}

}  // namespace ascend_attention::sim
