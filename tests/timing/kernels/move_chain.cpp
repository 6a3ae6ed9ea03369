// SPDX-License-Identifier: Apache-2.0
// One move of global memory again and again, from one core, what a vector core has loaded it
// stores at the end. `waits`: each waits for the one before it.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void load_ub(GM_ADDR x, GM_ADDR y, uint32_t size, uint32_t count, uint32_t waits) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> memory;
    pipe.InitBuffer(memory, size * sizeof(half));
    const LocalTensor<half> local = memory.Get<half>();
    GlobalTensor<half> source;
    GlobalTensor<half> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    for (uint32_t i = 0; i < count; ++i) {
        DataCopy(local, source, size);
        if (waits != 0) {
            PipeBarrier<PIPE_MTE2>();
        }
    }
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(target, local, size);
}

extern "C" __global__ __aicore__ void store_ub(GM_ADDR x, GM_ADDR y, uint32_t size, uint32_t count, uint32_t waits) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> memory;
    pipe.InitBuffer(memory, size * sizeof(half));
    const LocalTensor<half> local = memory.Get<half>();
    GlobalTensor<half> source;
    GlobalTensor<half> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    DataCopy(local, source, size);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    for (uint32_t i = 0; i < count; ++i) {
        DataCopy(target[uint64_t(i) * size], local, size);
        if (waits != 0) {
            PipeBarrier<PIPE_MTE3>();
        }
    }
}

// rows == 0: as it lies; otherwise so many rows of a matrix of `pitch` columns, to NZ.
extern "C" __global__ __aicore__ void load_l1(GM_ADDR x, uint32_t size, uint32_t rows, uint32_t pitch, uint32_t count,
                                              uint32_t waits) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> memory;
    const uint32_t stride = (rows + 15) / 16 * 16;  // NZ rounds rows up
    pipe.InitBuffer(memory, (rows == 0 ? size : size / rows * stride) * sizeof(half));
    const LocalTensor<half> local = memory.Get<half>();
    GlobalTensor<half> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    for (uint32_t i = 0; i < count; ++i) {
        if (rows == 0) {
            DataCopy(local, source, size);
        } else {
            Nd2NzParams params;
            params.ndNum = 1;
            params.nValue = rows;
            params.dValue = size / rows;
            params.srcNdMatrixStride = 0;
            params.srcDValue = pitch;
            params.dstNzC0Stride = stride;
            params.dstNzNStride = 1;
            params.dstNzMatrixStride = 0;
            DataCopy(local, source, params);
        }
        if (waits != 0) {
            PipeBarrier<PIPE_MTE2>();
        }
    }
}
