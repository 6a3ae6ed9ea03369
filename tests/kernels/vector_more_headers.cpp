// SPDX-License-Identifier: Apache-2.0
// The rarer calls of a vector core: fused arithmetic, block reductions, rearrangement, state that later calls use,
// stores that combine or fill. A row of the output per call, which the test compares with NumPy.
#include "vector_rows.h"

using namespace AscendC;

namespace {

constexpr int32_t kCount = kRowCount;

__aicore__ inline void Arithmetic(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    ROW(float, AddRelu(dst, x, y, kCount))
    ROW(float, SubRelu(dst, x, y, kCount))
    ROW(float, Duplicate(dst, 2.0f, kCount); PipeBarrier<PIPE_V>(); FusedMulAdd(dst, x, y, kCount))
    ROW(float, Duplicate(dst, 2.0f, kCount); PipeBarrier<PIPE_V>(); FusedMulAddRelu(dst, x, y, kCount))
    ROW(int16_t, Or(dst, x.ReinterpretCast<int16_t>(), y.ReinterpretCast<int16_t>(), 2 * kCount))
    LocalTensor<float> size = rows.At<float>(7);
    Abs(size, x, kCount);
    ROW(float, Sqrt(dst, size, kCount))
    ROW(float, Rsqrt(dst, size, kCount))
    ROW(float, Reciprocal(dst, size, kCount))
    ROW(float, Ln(dst, size, kCount))
}

__aicore__ inline void Reductions(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    uint64_t even_blocks[2] = {0x00FF00FF00FF00FF, 0};
    const LocalTensor<float> work = rows.At<float>(3);
    ROW(float, BlockReduceSum(dst, x, 8, 64, 1, 1, 8))
    ROW(float, BlockReduceSum(dst, x, 8, even_blocks, 1, 1, 8))
    ROW(float, BlockReduceMin(dst, x, 8, 64, 1, 1, 8))
    ROW(float, BlockReduceMin(dst, x, 8, even_blocks, 1, 1, 8))
    ROW(float, BlockReduceMax(dst, x, 4, even_blocks, 2, 1, 16))
    ROW(float, ReduceMin(dst, x, work, kCount, true))
    ROW(float, ReduceMin(dst, x, work, 64, 4, 16, true))
    ROW(float, ReduceMin(dst, x, work, even_blocks, 8, 8))
    ROW(float, ReduceMax(dst, x, work, 64, 4, 16, true))
    ROW(float, ReduceSum(dst, y, work, even_blocks, 1, 8))
}

__aicore__ inline void Rearrangement(VectorRows& rows, const LocalTensor<float>& x) {
    const UnaryRepeatParams two(1, 1, 8, 8);
    LocalTensor<int32_t> index = rows.At<int32_t>(6);
    const LocalTensor<half> halves = rows.At<half>(4);
    // Byte offsets of the blocks 7..0.
    CreateVecIndex(index, 0, 8U);
    PipeBarrier<PIPE_V>();
    Muls(index, index, -32, 8);
    PipeBarrier<PIPE_V>();
    Adds(index, index, 224, 8);
    ROW(uint32_t,
        Gatherb(dst, x.ReinterpretCast<uint32_t>(), index.ReinterpretCast<uint32_t>(), 1, GatherRepeatParams{1, 8}))
    PipeBarrier<PIPE_V>();
    CreateVecIndex(index, -100, static_cast<uint32_t>(kCount));
    ROW(int32_t, ShiftRight(dst, index, 3, kCount))
    ROW(int32_t, ShiftRight(dst, index, 1, 64, 8, two, true))
    ROW(int32_t, uint64_t low[2] = {0xFFFF, 0}; ShiftRight(dst, index, 2, low, 8, two))
    Cast(halves, x, RoundMode::CAST_RINT, kCount);
    ROW(half, Transpose(dst, halves))
    SetDeqScale(static_cast<half>(0.25f));
    ROW(half, Cast(dst, index, RoundMode::CAST_NONE, kCount))
    SetDeqScale(static_cast<half>(1.0f));
    ROW(half, Cast(dst, index, RoundMode::CAST_NONE, kCount))
}

__aicore__ inline void CompareMask(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    const BinaryRepeatParams three(1, 1, 1, 8, 8, 8);
    const LocalTensor<uint8_t> bits = rows.At<uint8_t>(5);
    const LocalTensor<float> scalar = rows.At<float>(3);
    uint64_t odd_blocks[2] = {0xFF00FF00FF00FF00, 0};
    ROW(uint8_t, Compare(x, y, CMPMODE::GT, 64, three); PipeBarrier<PIPE_V>(); GetCmpMask(dst))
    ROW(uint8_t, Compare(x, y, CMPMODE::LE, odd_blocks, three); PipeBarrier<PIPE_V>(); GetCmpMask(dst))
    Compare(bits, x, y, CMPMODE::GT, kCount);
    Duplicate(scalar, 2.5f, 8);
    PipeBarrier<PIPE_V>();
    ResetMask();
    // The first 64 bits for every repeat; then bits from the tensor and the scalar from the register.
    ROW(float, SetCmpMask(bits); ResetMask(); Select<float, SELMODE::VSEL_CMPMASK_SPR>(dst, x, y, 8, three))
    ROW(float, SetCmpMask(scalar); ResetMask(); Select(dst, bits, x, 8, three))
}

// Each combines y with x in global memory.
__aicore__ inline void Stores(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    for (int32_t mode = 0; mode < 4; ++mode) {
        DataCopy(rows.Row(), x, kCount);
        PipeBarrier<PIPE_ALL>();
        if (mode == 0) {
            SetAtomicAdd<float>();
        } else if (mode == 1) {
            SetAtomicMax<float>();
        } else if (mode == 2) {
            SetAtomicMin<float>();
        }
        DataCopy(rows.Row(), y, kCount);
        SetAtomicNone();
        rows.Next();
    }
    InitOutput<float>(rows.Row(), kCount - 3, 1.5f);
    PipeBarrier<PIPE_ALL>();
    InitOutput<float>(rows.Row()[kCount - 3], 3);
    rows.Next();
    // Three elements to the right that the call does not name itself.
    SetPadValue(-7.0f);
    ROW(float, DataCopyPad(dst, rows.Source(0), DataCopyExtParams{1, 5 * sizeof(float), 0, 0, 0},
                           DataCopyPadExtParams<float>{false, 0, 3, 0.0f}))
}

}  // namespace

extern "C" __global__ __aicore__ void vector_more_headers(GM_ADDR x, GM_ADDR y, GM_ADDR out) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        VectorRows rows(pipe, x, y, out);
        const LocalTensor<float> first = rows.At<float>(0);
        const LocalTensor<float> second = rows.At<float>(1);
        Arithmetic(rows, first, second);
        Reductions(rows, first, second);
        Rearrangement(rows, first);
        CompareMask(rows, first, second);
        Stores(rows, first, second);
    }
}
