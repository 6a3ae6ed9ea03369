// SPDX-License-Identifier: Apache-2.0
// z = x + y over rows of `tile` halves a core, two buffers, x and y around L2: the published Add example's last steps.
// Its buffers are its own, not queues.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void stream_around_l2(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t tiles, uint32_t tile) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> memory;
    pipe.InitBuffer(memory, 6 * tile * sizeof(half));
    const LocalTensor<half> local = memory.Get<half>();
    GlobalTensor<half> a;
    GlobalTensor<half> b;
    GlobalTensor<half> c;
    const uint64_t start = GetBlockIdx() * uint64_t(tiles) * tile;
    a.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + start);
    b.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y) + start);
    c.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z) + start);
    a.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    b.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    for (int32_t i = 0; i < 2; ++i) {
        SetFlag<HardEvent::V_MTE2>(i);
        SetFlag<HardEvent::MTE3_V>(i);
    }
    for (uint32_t i = 0; i < tiles; ++i) {
        const int32_t buffer = i % 2;
        const LocalTensor<half> in_a = local[buffer * tile];
        const LocalTensor<half> in_b = local[(2 + buffer) * tile];
        const LocalTensor<half> out = local[(4 + buffer) * tile];
        WaitFlag<HardEvent::V_MTE2>(buffer);
        DataCopy(in_a, a[uint64_t(i) * tile], tile);
        DataCopy(in_b, b[uint64_t(i) * tile], tile);
        SetFlag<HardEvent::MTE2_V>(buffer);
        WaitFlag<HardEvent::MTE2_V>(buffer);
        WaitFlag<HardEvent::MTE3_V>(buffer);
        Add(out, in_a, in_b, tile);
        SetFlag<HardEvent::V_MTE2>(buffer);
        SetFlag<HardEvent::V_MTE3>(buffer);
        WaitFlag<HardEvent::V_MTE3>(buffer);
        DataCopy(c[uint64_t(i) * tile], out, tile);
        SetFlag<HardEvent::MTE3_V>(buffer);
    }
    for (int32_t i = 0; i < 2; ++i) {
        WaitFlag<HardEvent::V_MTE2>(i);
        WaitFlag<HardEvent::MTE3_V>(i);
    }
}
