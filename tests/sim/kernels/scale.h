// SPDX-License-Identifier: Apache-2.0
// y = x * factor over kTile elements; the including file chooses the types.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T, uint32_t kTile>
__aicore__ inline void Scale(__gm__ T* x, __gm__ T* y, T factor) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> input;
    TQue<TPosition::VECOUT, 1> output;
    pipe.InitBuffer(input, 1, kTile * sizeof(T));
    pipe.InitBuffer(output, 1, kTile * sizeof(T));
    GlobalTensor<T> from;
    GlobalTensor<T> to;
    from.SetGlobalBuffer(x + GetBlockIdx() * kTile, kTile);
    to.SetGlobalBuffer(y + GetBlockIdx() * kTile, kTile);
    LocalTensor<T> in = input.AllocTensor<T>();
    DataCopy(in, from, kTile);
    input.EnQue(in);
    in = input.DeQue<T>();
    LocalTensor<T> out = output.AllocTensor<T>();
    Muls(out, in, factor, kTile);
    input.FreeTensor(in);
    output.EnQue(out);
    out = output.DeQue<T>();
    DataCopy(to, out, kTile);
    output.FreeTensor(out);
}
