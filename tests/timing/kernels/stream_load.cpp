// SPDX-License-Identifier: Apache-2.0
// Every core reads its share of a matrix, again and again, and does nothing with it: GM -> UB as a plain copy, GM -> L1
// as ND2NZ.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void stream_load_ub(GM_ADDR x, uint32_t tiles, uint32_t rows, uint32_t columns) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 2 * rows * columns * sizeof(half));
    GlobalTensor<half> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + GetBlockIdx() * uint64_t(tiles) * rows * columns);
    for (uint32_t i = 0; i < tiles; ++i) {
        DataCopy(buffer.Get<half>()[i % 2 * rows * columns], source[uint64_t(i) * rows * columns], rows * columns);
    }
}

extern "C" __global__ __aicore__ void stream_load_l1(GM_ADDR x, uint32_t tiles, uint32_t rows, uint32_t columns) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> buffer;
    pipe.InitBuffer(buffer, 2 * rows * columns * sizeof(half));
    GlobalTensor<half> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + GetBlockIdx() * uint64_t(tiles) * rows * columns);
    Nd2NzParams params;
    params.ndNum = 1;
    params.nValue = rows;
    params.dValue = columns;
    params.srcNdMatrixStride = 0;
    params.srcDValue = columns;
    params.dstNzC0Stride = rows;
    params.dstNzNStride = 1;
    params.dstNzMatrixStride = 0;
    for (uint32_t i = 0; i < tiles; ++i) {
        DataCopy(buffer.Get<half>()[i % 2 * rows * columns], source[uint64_t(i) * rows * columns], params);
    }
}
