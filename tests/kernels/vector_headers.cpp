// SPDX-License-Identifier: Apache-2.0
// Every form of the vector calls through the device headers: a row of the output per call, which the test compares with
// NumPy.
#include "vector_rows.h"

using namespace AscendC;

namespace {

constexpr int32_t kCount = kRowCount;

__aicore__ inline void Arithmetic(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    uint64_t bits[2] = {0x00FF00FF00FF00FF, 0};
    const BinaryRepeatParams three(1, 1, 1, 8, 8, 8);
    const UnaryRepeatParams two(1, 1, 8, 8);
    ROW(float, Add(dst, x, y, 500))
    ROW(float, Add(dst, x, y, 40, 8, three))
    ROW(float, Sub(dst, x, y, bits, 8, three))
    SetMaskNorm();
    SetVectorMask<float, MaskMode::NORMAL>(0, 0xF);
    ROW(float, SetVectorMask<float>(0, 0xF); Mul<float, false>(dst, x, y, MASK_PLACEHOLDER, 8, three))
    ROW(float, SetVectorMask<float>(5); Max<float, false>(dst, x, y, MASK_PLACEHOLDER, 8, three); ResetMask())
    ROW(float, SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(70);
        Min<float, false>(dst, x, y, MASK_PLACEHOLDER, 1, three); SetMaskNorm(); ResetMask())
    ROW(float, Div(dst, x, y, 512))
    ROW(float, Adds(dst, x, 1.5f, 500))
    ROW(float, Muls(dst, x, -2.0f, 33, 8, two))
    ROW(float, Maxs(dst, x, 0.25f, bits, 8, two))
    ROW(float, Mins(dst, x, 0.25f, 512))
    ROW(float, SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 100); Adds<float, false>(dst, x, 1.0f, 1);
        SetMaskNorm(); ResetMask())
    ROW(float, Abs(dst, x, 512))
    ROW(float, Exp(dst, x, 64, 8, two))
    ROW(float, Relu(dst, x, bits, 8, two))
    ROW(float, Duplicate(dst, 3.0f, 10, 4, 1, 8))
    ROW(float, Duplicate(dst, 4.0f, bits, 4, 1, 16))
    ROW(float, Axpy(dst, x, 2.0f, 512))
    ROW(float, MulAddDst(dst, x, y, 512))
    ROW(float, LeakyRelu(dst, x, 0.5f, 512))
}

__aicore__ inline void Reductions(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    const LocalTensor<float> work = rows.At<float>(3);
    ROW(float, WholeReduceSum(dst, x, 64, 8, 1, 1, 8))
    ROW(float, WholeReduceMax(dst, x, 64, 8, 1, 1, 8))
    ROW(float, WholeReduceMin(dst, x, 64, 8, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE))
    ROW(float, BlockReduceMax(dst, x, 8, 64, 1, 1, 8))
    ROW(float, PairReduceSum(dst, x, 8, 64, 1, 1, 8))
    ROW(float, RepeatReduceSum<float>(dst, x, 8, 64, 1, 1, 1, 8))
    ROW(float, ReduceMax(dst, x, work, kCount, true))
    ROW(float, ReduceSum(dst, x, work, kCount))
    ROW(float, Brcb(dst, x, 8, {1, 8}))
    ROW(float, Copy(dst, y, 64, 4, {1, 1, 16, 8}))
}

__aicore__ inline void Types(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    const LocalTensor<half> halves = rows.At<half>(4);
    const LocalTensor<uint8_t> bits = rows.At<uint8_t>(5);
    ROW(half, Cast(dst, x, RoundMode::CAST_RINT, kCount))
    ROW(bfloat16_t, Cast(dst, x, RoundMode::CAST_RINT, 64, 8, {1, 1, 4, 8}))
    ROW(int32_t, Cast(dst, x, RoundMode::CAST_FLOOR, kCount))
    Cast(halves, x, RoundMode::CAST_NONE, kCount);
    PipeBarrier<PIPE_ALL>();
    ROW(float, Cast(dst, halves, RoundMode::CAST_NONE, kCount))
    ROW(half, Muls(dst, halves, static_cast<half>(0.5f), kCount))
    ROW(uint8_t, Compare(dst, x, y, CMPMODE::GT, kCount))
    ROW(uint8_t, CompareScalar(dst, x, 0.0f, CMPMODE::LE, kCount))
    Compare(bits, x, y, CMPMODE::GT, kCount);
    PipeBarrier<PIPE_ALL>();
    ROW(float, Select(dst, bits, x, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, kCount))
    ROW(float, Select(dst, bits, x, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64, 8, {1, 1, 1, 8, 8, 8}))
    ROW(int32_t, CreateVecIndex(dst, static_cast<int32_t>(7), static_cast<uint32_t>(kCount)))
    ROW(int32_t, LocalTensor<int32_t> index = rows.At<int32_t>(6);
        CreateVecIndex(index, 0, static_cast<uint32_t>(kCount)); PipeBarrier<PIPE_ALL>();
        ShiftLeft(dst, index, 2, kCount))
    ROW(float, LocalTensor<int32_t> index = rows.At<int32_t>(6); CreateVecIndex(index, 0, 16u); PipeBarrier<PIPE_ALL>();
        ShiftLeft(index, index, 4, 16); PipeBarrier<PIPE_ALL>();
        Gather(dst, x, index.ReinterpretCast<uint32_t>(), 0, 16u))
    ROW(float, uint64_t kept = 0; GatherMask(dst, x, static_cast<uint8_t>(2), false, 0, {1, 8, 8, 0}, kept);
        PipeBarrier<PIPE_ALL>(); Duplicate(dst[kCount - 64], static_cast<float>(kept), 64))
    ROW(int16_t, And(dst, x.ReinterpretCast<int16_t>(), y.ReinterpretCast<int16_t>(), 2 * kCount))
    ROW(int16_t, Not(dst, x.ReinterpretCast<int16_t>(), 2 * kCount))
}

}  // namespace

extern "C" __global__ __aicore__ void vector_headers(GM_ADDR x, GM_ADDR y, GM_ADDR out) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        VectorRows rows(pipe, x, y, out);
        const LocalTensor<float> first = rows.At<float>(0);
        const LocalTensor<float> second = rows.At<float>(1);
        Arithmetic(rows, first, second);
        Reductions(rows, first, second);
        Types(rows, first, second);
    }
}
