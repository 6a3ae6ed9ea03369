// SPDX-License-Identifier: Apache-2.0
// z = x + y over rows of `tile` halves a core, with one or two buffers: the published Add example's memory behaviour.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void stream_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t tiles, uint32_t tile,
                                                 uint32_t buffers) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> first;
    TQue<TPosition::VECIN, 2> second;
    TQue<TPosition::VECOUT, 2> result;
    pipe.InitBuffer(first, buffers, tile * sizeof(half));
    pipe.InitBuffer(second, buffers, tile * sizeof(half));
    pipe.InitBuffer(result, buffers, tile * sizeof(half));
    GlobalTensor<half> a;
    GlobalTensor<half> b;
    GlobalTensor<half> c;
    const uint64_t start = GetBlockIdx() * uint64_t(tiles) * tile;
    a.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + start);
    b.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y) + start);
    c.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z) + start);
    for (uint32_t i = 0; i < tiles; ++i) {
        LocalTensor<half> in_a = first.AllocTensor<half>();
        LocalTensor<half> in_b = second.AllocTensor<half>();
        DataCopy(in_a, a[uint64_t(i) * tile], tile);
        DataCopy(in_b, b[uint64_t(i) * tile], tile);
        first.EnQue(in_a);
        second.EnQue(in_b);
        in_a = first.DeQue<half>();
        in_b = second.DeQue<half>();
        LocalTensor<half> out = result.AllocTensor<half>();
        Add(out, in_a, in_b, tile);
        result.EnQue<half>(out);
        first.FreeTensor(in_a);
        second.FreeTensor(in_b);
        out = result.DeQue<half>();
        DataCopy(c[uint64_t(i) * tile], out, tile);
        result.FreeTensor(out);
    }
}
