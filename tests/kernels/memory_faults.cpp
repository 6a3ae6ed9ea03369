// SPDX-License-Identifier: Apache-2.0
// One fault of memory or of the run per `which`; 0 copies x to y and is right.
#include <stdexcept>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

// As kernels written with RAII do it: the destructor waits for what the constructor set. Destructors may not throw.
struct Drain {
    ~Drain() { WaitFlag<HardEvent::MTE2_V>(4); }
};

void Copy(int64_t which, const LocalTensor<float>& local, GlobalTensor<float> source, GlobalTensor<float> target,
          uint32_t count) {
    switch (which) {
        case 0:
            DataCopy(local, source, count);
            PipeBarrier<PIPE_ALL>();
            DataCopy(target, local, count);
            break;
        case 1:  // 32 bytes beyond the input
            DataCopy(local, source[8], count);
            break;
        case 3:
            Duplicate(local, 0.0f, static_cast<int32_t>(count));
            PipeBarrier<PIPE_ALL>();
            DataCopy(source, local, count);
            break;
        case 5:  // stores what nothing has written
            DataCopy(target, local, count);
            break;
        case 17: {  // a fault first; the destructor runs while the stack unwinds
            Drain drain;
            DataCopy(local, source[8], count);
            break;
        }
        default:
            break;
    }
}

void Compute(int64_t which, const LocalTensor<float>& local) {
    switch (which) {
        case 2:  // beyond the buffer, into its neighbour
            Duplicate(local, 0.0f, 264);
            break;
        case 4:  // computes with what nothing has written
            Adds(local, local, 1.0f, 64);
            break;
        case 7:
            while (true) {
                Duplicate(local, 0.0f, 64);
                PipeBarrier<PIPE_ALL>();
            }
            break;
        case 18:  // a tensor placed by hand, used beyond its size, within the memory
            Duplicate(LocalTensor<float>(TPosition::VECCALC, 4096, 64), 0.0f, 72);
            break;
        case 19:  // ... and beyond the memory
            Duplicate(LocalTensor<float>(TPosition::VECCALC, 192 * 1024 - 256, 8), 0.0f, 72);
            break;
        case 10:  // a start that is not a multiple of 32 bytes
            Adds(local[1], local, 1.0f, 64);
            break;
        case 12:  // reads exactly the defined lanes of a partly defined buffer: legal
        case 13:  // one lane too many
            Duplicate(local, 1.0f, 10);
            PipeBarrier<PIPE_ALL>();
            Adds(local[16], local, 1.0f, which == 12 ? 10 : 11);
            break;
        case 15: {  // the whole memory
            LocalTensor<float> top(TPosition::VECCALC, 192 * 1024 - 256, 8);
            Duplicate(top, 0.0f, 8);
            break;
        }
        default:
            break;
    }
}

void End(int64_t which, TPipe& pipe, TBuf<>& guard, int64_t count) {
    switch (which) {
        case 8:
            throw std::runtime_error("a host exception");
        case 9:
            pipe.InitBuffer(guard, 192 * 1024);
            break;
        case 11:
            ASSERT(count < 0);
            break;
        case 14: {
            LocalTensor<float> bad = guard.Get<float>(257);
            (void)bad;
            break;
        }
        case 16: {  // the wait in the destructor never ends
            Drain drain;
            break;
        }
        default:
            break;
    }
}

}  // namespace

// Case 6 leaves the output untouched: legal.
extern "C" __global__ __aicore__ void memory_faults(GM_ADDR x, GM_ADDR y, int64_t count, int64_t which) {
    TPipe pipe;
    TBuf<> buffer;
    TBuf<> guard;
    pipe.InitBuffer(buffer, 1024);
    pipe.InitBuffer(guard, 1024);
    GlobalTensor<float> source;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), count);
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), count);
    Copy(which, buffer.Get<float>(), source, target, static_cast<uint32_t>(count));
    Compute(which, buffer.Get<float>());
    End(which, pipe, guard, count);
}
