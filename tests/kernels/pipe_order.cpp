// SPDX-License-Identifier: Apache-2.0
// Two instructions of one pipe of a vector core on the same bytes, without a barrier.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void pipe_order(int64_t which) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> first = buffer.Get<float>();
    LocalTensor<float> second = first[64];
    Duplicate(first, 1.0f, 64);
    PipeBarrier<PIPE_V>();
    if (which == 0) {  // write after read: kept by the hardware
        Muls(second, first, 2.0f, 64);
        Duplicate(first, 3.0f, 64);
    } else {  // read after write
        Duplicate(first, 3.0f, 64);
        Muls(second, first, 2.0f, 64);
    }
}
