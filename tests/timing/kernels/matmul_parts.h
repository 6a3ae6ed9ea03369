// SPDX-License-Identifier: Apache-2.0
// What block_matmul and tiled_matmul have in common: buffers, one product, the way of C to global memory; and ND to NZ,
// which other kernels load by as well. How the two walk over C and k is what was published of each, and stays apart.
#pragma once

#include "kernel_operator.h"

namespace matmul_parts {

using namespace AscendC;

constexpr int32_t kFractal = 16;
constexpr int32_t kL0 = 3;  // M_MTE1 0 to 2 belong to TPipe

// Elements of A and B in L1, of a piece of each in L0 (which holds two), and of C.
template <typename T>
struct Buffers {
    __aicore__ inline void Init(TPipe& pipe, int32_t in_l1, int32_t left_piece, int32_t right_piece, int32_t results) {
        pipe.InitBuffer(l1, in_l1 * sizeof(T));
        pipe.InitBuffer(l0a, 2 * left_piece * sizeof(T));
        pipe.InitBuffer(l0b, 2 * right_piece * sizeof(T));
        pipe.InitBuffer(l0c, results * sizeof(float));
    }

    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> l0a;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
};

// `rows` x `columns` of a matrix with `pitch` elements a row; a column of NZ blocks has room for `room` rows.
template <typename T>
__aicore__ inline void ToNz(const LocalTensor<T>& target, const GlobalTensor<T>& source, int32_t rows, int32_t columns,
                            int32_t pitch, int32_t room) {
    Nd2NzParams params;
    params.ndNum = 1;
    params.nValue = rows;
    params.dValue = columns;
    params.srcNdMatrixStride = 0;
    params.srcDValue = pitch;
    params.dstNzC0Stride = room;
    params.dstNzNStride = 1;
    params.dstNzMatrixStride = 0;
    DataCopy(target, source, params);
}

// C = A B or C += A B of the pieces at `left` and `right` of L0; C waits for the one before it to be stored.
template <typename T>
__aicore__ inline void Multiply(Buffers<T>& buffers, int32_t l0, int32_t left, int32_t right, int32_t m, int32_t n,
                                int32_t k, bool first) {
    SetFlag<HardEvent::MTE1_M>(l0);
    if (first) {
        WaitFlag<HardEvent::FIX_M>(0);
    }
    WaitFlag<HardEvent::MTE1_M>(l0);
    MmadParams params;
    params.m = m;
    params.n = n;
    params.k = k;
    params.cmatrixInitVal = first;
    Mmad(buffers.l0c.template Get<float>(), buffers.l0a.template Get<T>()[left], buffers.l0b.template Get<T>()[right],
         params);
    SetFlag<HardEvent::M_MTE1>(kL0 + l0);
}

// C, of which a column of blocks has `room` rows, as rows with `pitch` elements of Result.
template <typename Result, typename T>
__aicore__ inline void Store(const GlobalTensor<Result>& target, Buffers<T>& buffers, int32_t rows, int32_t columns,
                             int32_t room, int32_t pitch) {
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 params;
    params.nSize = columns;
    params.mSize = rows;
    params.srcStride = room;
    params.dstStride = pitch;
    if (sizeof(Result) == sizeof(half)) {
        params.quantPre = QuantMode_t::F322F16;
    }
    Fixpipe<Result, float, CFG_ROW_MAJOR>(target, buffers.l0c.template Get<float>(), params);
    SetFlag<HardEvent::FIX_M>(0);
}

}  // namespace matmul_parts
