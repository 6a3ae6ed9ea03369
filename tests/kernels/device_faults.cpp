// SPDX-License-Identifier: Apache-2.0
// One thing per `which` that a processor or the C++ runtime does not let pass; 0 is right. On the core that `guilty`
// names (GetBlockIdx of a vector core), while every other core waits for a flag that never comes; with `which` 0 the
// flag comes.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

// Through volatile, so that the compiler does not see the fault coming.
template <typename T>
T Hide(T value) {
    volatile T hidden = value;
    return hidden;
}

int64_t Recurse(int64_t depth) {
    volatile int64_t frame[64];
    frame[depth & 63] = depth;
    return depth < 0 ? 0 : Recurse(depth + 1) + frame[depth & 63];
}

int64_t RecurseWithCalls(int64_t depth) {
    volatile int64_t frame[64];
    frame[depth & 63] = depth;
    PipeBarrier<PIPE_ALL>();
    return depth < 0 ? 0 : RecurseWithCalls(depth + 1) + frame[depth & 63];
}

int64_t LargeFrame() {
    volatile char array[8 * 1024 * 1024];
    array[0] = 1;
    return array[0];
}

void Fail(bool fails) {
    if (fails) {
        throw std::runtime_error("thrown where nothing may be thrown");
    }
}

void Throw() noexcept { Fail(Hide(true)); }

struct Quiet {
    ~Quiet() noexcept(false) {
        if (throws) {
            throw std::runtime_error("thrown by a destructor");
        }
    }
    bool throws;
};

// Where these faults are meant, UndefinedBehaviorSanitizer must not end the process before the processor sees them.
#define DELIBERATE __attribute__((no_sanitize("undefined")))

DELIBERATE void Memory(int64_t which, GM_ADDR x) {
    switch (which) {
        case 1:
            *Hide<volatile int*>(nullptr) = 1;
            break;
        case 2:
            (void)*Hide<volatile int*>(reinterpret_cast<volatile int*>(64));
            break;
        case 3:  // an address that no pointer can have
            *Hide<volatile int*>(reinterpret_cast<volatile int*>(0x8000000000000000ULL)) = 1;
            break;
        case 4:  // far from the buffer, on the side that still has addresses
            x[Hide<int64_t>(reinterpret_cast<uint64_t>(x) >> 46 == 0 ? int64_t{1} << 44 : -(int64_t{1} << 44))] = 1;
            break;
        case 5:  // inside a function of the C library
            std::memset(Hide<char*>(reinterpret_cast<char*>(4096)), 0, static_cast<size_t>(Hide(100)));
            break;
        case 6:
            Hide<void (*)()>(nullptr)();
            break;
        default:
            break;
    }
}

DELIBERATE void Run(int64_t which) {
    switch (which) {
        case 10:
            (void)Recurse(Hide<int64_t>(0));
            break;
        case 11:
            (void)RecurseWithCalls(Hide<int64_t>(0));
            break;
        case 12:
            (void)LargeFrame();
            break;
        case 13:
            (void)Hide(Hide(7) / Hide(0));
            break;
        case 14:
            __builtin_trap();
            break;
        case 15:
            std::abort();
            break;
        case 16:
            Throw();
            break;
        case 17:
            throw 7;
        case 18: {
            const Quiet outer{true};
            throw std::runtime_error("thrown first");
        }
        case 20:
            while (Hide(true)) {
            }
            break;
        case 21:  // in another library, and never for long in its own code
            while (Hide(true)) {
                std::free(Hide(std::malloc(100000)));
            }
            break;
        case 22:  // calls that issue nothing
            while (GetBlockIdx() >= 0) {
            }
            break;
        case 30: {  // the C library finds its heap broken, and holds a lock while it says so
            auto* memory = static_cast<char*>(std::malloc(100));
            std::free(Hide(memory + 16));
            break;
        }
        default:
            break;
    }
}

}  // namespace

extern "C" __global__ __aicore__ void device_faults(GM_ADDR x, int64_t which, int64_t guilty) {
    TPipe pipe;
    if (g_coreType == AIC) {
        CrossCoreWaitFlag(2);
        return;
    }
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> local = buffer.Get<float>();
    Duplicate(local, 1.0f, 64);  // the last call before the fault
    if (GetBlockIdx() == guilty) {
        Memory(which, x);
        Run(which);
    } else if (which != 0) {
        CrossCoreWaitFlag(3);
    }
    CrossCoreSetFlag<2, PIPE_V>(2);
}
