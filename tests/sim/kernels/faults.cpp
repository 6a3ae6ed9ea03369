// SPDX-License-Identifier: Apache-2.0
// One mistake a kernel; each ends in a SimulatorError that names its line.
#include <csignal>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 64;

__attribute__((noinline)) int64_t Recurse(volatile int64_t* depth) {
    volatile int64_t room[64];
    room[*depth & 63] = ++*depth;
    return Recurse(depth) + room[*depth & 63];
}

}  // namespace

extern "C" __global__ __aicore__ void fault(GM_ADDR x, GM_ADDR y, int32_t which) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> input;
    pipe.InitBuffer(input, 1, kTile * sizeof(float));
    GlobalTensor<float> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), kTile);
    LocalTensor<float> tile = input.AllocTensor<float>();
    volatile int64_t depth = 0;
    switch (which) {
        case 1:
            DataCopy(tile, from[1 << 20], kTile);  // out of bounds
            break;
        case 2:
            input.EnQue(tile);
            input.EnQue(tile);  // misuse of a queue
            break;
        case 3:
            while (true) {
                PipeBarrier<PIPE_ALL>();  // hangs, with calls
            }
        case 4:
            WaitFlag<HardEvent::MTE2_V>(0);  // hangs, on a flag
            break;
        case 5:
            throw 5;  // throws
        case 6:
            ASSERT(which == 0);  // asserts
            break;
        case 7:
            DataCopy(to, tile, kTile);  // uninitialised
            break;
        case 8:
            Recurse(&depth);  // recurses
            break;
        case 9:
            *reinterpret_cast<volatile int*>(8) = 1;  // a wild pointer
            break;
        case 10:
            while (which == 10) {  // hangs, without a call
                depth = depth + 1;
            }
            break;
        case 11:
            while (true) {
                try {
                    DataCopy(tile, from[1 << 20], kTile);  // goes on after its end
                } catch (...) {
                }
            }
        case 12:
            raise(SIGSEGV);  // raises a signal
            break;
        default:
            DataCopy(tile, from, kTile);
            input.EnQue(tile);
            tile = input.DeQue<float>();
            SetFlag<HardEvent::MTE2_MTE3>(0);
            WaitFlag<HardEvent::MTE2_MTE3>(0);
            DataCopy(to, tile, kTile);
            break;
    }
    input.FreeTensor(tile);
}
