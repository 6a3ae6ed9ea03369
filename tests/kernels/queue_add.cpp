// SPDX-License-Identifier: Apache-2.0
// z = x + y with queues, as the beginner's sample of Ascend C does. `defect` drops one call of the framework.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 128;

enum Defect : int32_t { kNone = 0, kNoDeQue = 1, kNoFree = 2, kNoEnQueOut = 3, kForeignTensor = 4, kTooDeep = 5 };

}  // namespace

extern "C" __global__ __aicore__ void queue_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, int64_t tiles, int64_t defect) {
    TPipe pipe;
    TQue<TPosition::VECIN, 2> first;
    TQue<TPosition::VECIN, 2> second;
    TQue<TPosition::VECOUT, 2> result;
    pipe.InitBuffer(first, 2, kTile * sizeof(half));
    pipe.InitBuffer(second, 2, kTile * sizeof(half));
    pipe.InitBuffer(result, 2, kTile * sizeof(half));
    GlobalTensor<half> a;
    GlobalTensor<half> b;
    GlobalTensor<half> c;
    const int64_t start = GetBlockIdx() * tiles * kTile;
    a.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + start, tiles * kTile);
    b.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y) + start, tiles * kTile);
    c.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z) + start, tiles * kTile);
    for (int64_t tile = 0; tile < tiles; ++tile) {
        LocalTensor<half> in_a = first.AllocTensor<half>();
        LocalTensor<half> in_b = second.AllocTensor<half>();
        DataCopy(in_a, a[tile * kTile], kTile);
        DataCopy(in_b, b[tile * kTile], kTile);
        first.EnQue(in_a);
        if (defect == kTooDeep) {
            first.EnQue(in_a);
        }
        second.EnQue(in_b);
        LocalTensor<half> use_a = defect == kNoDeQue ? in_a : first.DeQue<half>();
        LocalTensor<half> use_b = second.DeQue<half>();
        LocalTensor<half> out = result.AllocTensor<half>();
        Add(out, use_a, use_b, kTile);
        if (defect == kForeignTensor) {
            result.EnQue(use_a);
        }
        if (defect != kNoEnQueOut) {
            result.EnQue<half>(out);
            out = result.DeQue<half>();
        }
        if (defect != kNoFree) {
            first.FreeTensor(use_a);
        }
        second.FreeTensor(use_b);
        DataCopy(c[tile * kTile], out, kTile);
        result.FreeTensor(out);
    }
}
