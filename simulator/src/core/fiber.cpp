// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/sanitizers.h"

namespace ascend_attention::sim {

namespace {

// Host code of an instruction runs on it too, so it is larger than the 32 KiB of the device. Only touched pages cost.
constexpr std::size_t kStackBytes = (kSanitized ? 2048 : 512) * 1024;

// Mappings with a guard page at the low end, kept between launches.
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
        const std::size_t guard = Guard();
        void* mapping = mmap(nullptr, guard + kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED) {
            throw std::bad_alloc();
        }
        mprotect(mapping, guard, PROT_NONE);
        return static_cast<char*>(mapping) + guard;
    }

    void Give(void* stack) {
        const std::lock_guard<std::mutex> lock(mutex_);
        free_.push_back(stack);
    }

private:
    static std::size_t Guard() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

    std::mutex mutex_;
    std::vector<void*> free_;
};

StackPool& Stacks() {
    static StackPool* pool = new StackPool;
    return *pool;
}

thread_local Fiber* running = nullptr;

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
#ifdef ASCEND_SIM_TSAN
    if (thread_fiber_ != nullptr) {
        __tsan_destroy_fiber(thread_fiber_);
    }
#endif
    Stacks().Give(stack_);
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
