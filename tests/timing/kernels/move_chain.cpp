// SPDX-License-Identifier: Apache-2.0
// One move of global memory again and again, from one core, each waiting for the one before it. What a vector core has
// loaded it stores at the end.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void load_ub(GM_ADDR x, GM_ADDR y, uint32_t size, uint32_t count) {
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
        PipeBarrier<PIPE_MTE2>();
    }
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(target, local, size);
}

extern "C" __global__ __aicore__ void store_ub(GM_ADDR x, GM_ADDR y, uint32_t size, uint32_t count) {
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
        PipeBarrier<PIPE_MTE3>();
    }
}

// rows == 0: as it lies; otherwise so many rows of a matrix of 1024 columns, to NZ.
extern "C" __global__ __aicore__ void load_l1(GM_ADDR x, uint32_t size, uint32_t rows, uint32_t count) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> memory;
    pipe.InitBuffer(memory, size * sizeof(half));
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
            params.srcDValue = 1024;
            params.dstNzC0Stride = rows;
            params.dstNzNStride = 1;
            params.dstNzMatrixStride = 0;
            DataCopy(local, source, params);
        }
        PipeBarrier<PIPE_MTE2>();
    }
}
