// SPDX-License-Identifier: Apache-2.0
// Calls that convert after computing, transpose or sort, and the library's sequences: a row of the output per call,
// which the test compares with NumPy.
#include "vector_rows.h"

using namespace AscendC;

namespace {

constexpr int32_t kCount = kRowCount;

__aicore__ inline void Conversions(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    const BinaryRepeatParams halving(1, 1, 1, 4, 8, 8);
    uint64_t low[2] = {0xFFFFFFFF, 0};
    const LocalTensor<half> a = rows.At<half>(3);
    const LocalTensor<half> b = rows.At<half>(4);
    const LocalTensor<int32_t> i = rows.At<int32_t>(5);
    const LocalTensor<int32_t> j = rows.At<int32_t>(6);
    const LocalTensor<int16_t> shorts = rows.At<int16_t>(7);
    Cast(a, x, RoundMode::CAST_RINT, kCount);
    Cast(b, y, RoundMode::CAST_RINT, kCount);
    ROW(half, AddReluCast(dst, x, y, static_cast<uint32_t>(kCount)))
    ROW(half, AddReluCast(dst, x, y, static_cast<uint64_t>(64), 4, halving))
    ROW(half, SubReluCast(dst, x, y, low, 4, halving))
    ROW(half, ResetMask(); SubReluCast<half, float, false>(dst, x, y, MASK_PLACEHOLDER, 4, halving))
    ROW(int8_t, SubReluCast(dst, a, b, static_cast<uint32_t>(kCount)))
    ROW(int8_t, MulCast(dst, a, b, static_cast<uint32_t>(kCount)))
    ROW(uint8_t, MulCast(dst, a, b, static_cast<uint64_t>(100), 2, halving))
    ROW(uint8_t, MulCast(dst, a, b, low, 2, halving))
    SetDeqScale(static_cast<half>(0.5f));
    for (int32_t form = 0; form < 4; ++form) {
        Cast(i, x, RoundMode::CAST_FLOOR, kCount);
        Cast(j, y, RoundMode::CAST_CEIL, kCount);
        ROW(
            half, if (form == 0) { AddDeqRelu(dst, i, j, kCount); } else if (form == 1) {
                AddDeqRelu<half, int32_t>(dst, i, j, kCount);
            } else if (form == 2) { AddDeqRelu(dst, i, j, 64, 8, halving); } else {
                AddDeqRelu(dst, i, j, low, 8, halving);
            })
    }
    Cast(i, x, RoundMode::CAST_FLOOR, kCount);
    PipeBarrier<PIPE_V>();
    Cast(shorts, i, RoundMode::CAST_NONE, kCount);
    ROW(half, CastDequant(dst, i, static_cast<uint32_t>(kCount)))
    SetDeqScale(2.0f, static_cast<int16_t>(-3), true);
    ROW(int8_t, CastDeq<int8_t, int16_t, false, true>(dst, shorts, static_cast<uint32_t>(kCount)))
    ROW(int8_t, CastDeq<int8_t, int16_t, true, false, false>(dst, shorts, 16, 4, UnaryRepeatParams(1, 1, 8, 8)))
    float scales[VDEQ_TENSOR_SIZE];
    int16_t offsets[VDEQ_TENSOR_SIZE];
    bool signs[VDEQ_TENSOR_SIZE];
    for (int32_t k = 0; k < VDEQ_TENSOR_SIZE; ++k) {
        scales[k] = static_cast<float>(k);
        offsets[k] = static_cast<int16_t>(100 - k);
        signs[k] = false;
    }
    SetDeqScale(rows.At<uint64_t>(3), VdeqInfo(scales, offsets, signs));
    PipeBarrier<PIPE_ALL>();
    ROW(uint8_t, CastDequant<uint8_t, int16_t, true, false>(dst, shorts, static_cast<uint32_t>(kCount)))
    ROW(uint8_t, uint64_t even[2] = {0x5555555555555555, 0};
        CastDequant<uint8_t, int16_t, true, true, true>(dst, shorts, even, 2, UnaryRepeatParams(1, 1, 8, 8)))
}

__aicore__ inline void Transpositions(VectorRows& rows, const LocalTensor<float>& x) {
    const LocalTensor<uint8_t> work = rows.At<uint8_t>(3);
    ROW(float, Transpose(dst, x, work, TransposeParamsExt(1, 2, 16, 16, TransposeType::TRANSPOSE_NCHW2NHWC)))
    ROW(float, Transpose(dst, x, work, TransposeParamsExt(2, 1, 16, 16, TransposeType::TRANSPOSE_NHWC2NCHW)))
    ROW(uint16_t, Transpose(dst, x.ReinterpretCast<uint16_t>(), work,
                            TransposeParamsExt(0, 0, 16, 16, TransposeType::TRANSPOSE_ND2ND_B16)))
    ROW(
        float, LocalTensor<float> to[16]; LocalTensor<float> from[16]; for (uint32_t k = 0; k < 16; ++k) {
            to[k] = dst[k * 8];
            from[k] = x[k * 16];
        } TransDataTo5HD<float>(to, from, TransDataTo5HDParams(false, false, 1, 0, 0)))
    const LocalTensor<half> halves = x.ReinterpretCast<half>();
    ROW(
        half, uint64_t to[16]; uint64_t from[16]; for (uint32_t k = 0; k < 16; ++k) {
            to[k] = (uint64_t)dst[k * 16].GetPhyAddr();
            from[k] = (uint64_t)halves[k * 32].GetPhyAddr();
        } TransDataTo5HD<half>(to, from, TransDataTo5HDParams(false, false, 2, 16, 1)))
    const LocalTensor<uint64_t> to = rows.At<uint64_t>(4);
    const LocalTensor<uint64_t> from = rows.At<uint64_t>(5);
    const LocalTensor<int8_t> bytes = x.ReinterpretCast<int8_t>();
    ROW(
        int8_t,
        for (uint32_t k = 0; k < 16; ++k) {
            to.SetValue(k, (uint64_t)dst[k * 32].GetPhyAddr());
            from.SetValue(k, (uint64_t)bytes[k * 32].GetPhyAddr());
        } PipeBarrier<PIPE_ALL>();
        TransDataTo5HD<int8_t>(to, from, TransDataTo5HDParams(true, false, 1, 0, 0)))
}

__aicore__ inline void Sorting(VectorRows& rows, const LocalTensor<float>& x) {
    LocalTensor<int32_t> positions = rows.At<int32_t>(3);
    LocalTensor<float> sorted = rows.At<float>(4);
    LocalTensor<float> work = rows.At<float>(5);
    LocalTensor<float> concat;
    CreateVecIndex(positions, 0, 256U);
    const LocalTensor<uint32_t> index = positions.ReinterpretCast<uint32_t>();
    ROW(float, Sort32(dst, x, index, 8))
    Concat(concat, x, work, 16);
    ROW(float, Sort<float, false>(dst, concat, index, work, 4))
    ROW(float, Sort<float, true>(dst, concat, index, work, 8))
    Sort32(sorted, x, index, 4);
    PipeBarrier<PIPE_V>();
    const MrgSortSrcList<float> queues(sorted, sorted[GetSortOffset<float>(32)], sorted[GetSortOffset<float>(64)],
                                       sorted[GetSortOffset<float>(96)]);
    const uint16_t lengths[4] = {32, 32, 32, 32};
    ROW(float, MrgSort(dst, queues, MrgSort4Info(lengths, false, 15, 1)))
    ROW(
        float, MrgSort(dst, queues, MrgSort4Info(lengths, true, 3, 1)); PipeBarrier<PIPE_ALL>();
        uint16_t counts[4] = {}; GetMrgSortResult(counts[0], counts[1], counts[2], counts[3]);
        for (uint32_t k = 0; k < 4; ++k) { dst.SetValue(500 + k, static_cast<float>(counts[k])); })
    ROW(
        float, uint32_t counts[4] = {}; MrgSort<float, true>(dst, queues, lengths, counts, 7, 1);
        PipeBarrier<PIPE_ALL>();
        for (uint32_t k = 0; k < 4; ++k) { dst.SetValue(500 + k, static_cast<float>(counts[k])); })
    ROW(float, Extract(dst, dst[GetSortLen<float>(64)].ReinterpretCast<uint32_t>(), sorted, 4))
}

__aicore__ inline void Library(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    const LocalTensor<int16_t> a = x.ReinterpretCast<int16_t>();
    const LocalTensor<int16_t> b = y.ReinterpretCast<int16_t>();
    const LocalTensor<uint8_t> work = rows.At<uint8_t>(3);
    ROW(int16_t, Xor(dst, a, b, work, static_cast<uint32_t>(1000)))
    ROW(int16_t, Xor(dst, a, b, work))
    ROW(int16_t, Xor(dst, a, b, static_cast<uint32_t>(1000)))
    ROW(int16_t, Xor(dst, a, b))
    SelectWithBytesMaskShapeInfo info;
    info.firstAxis = 8;
    info.srcLastAxis = 32;
    info.maskLastAxis = 64;
    LocalTensor<float> part = x;
    part.SetSize(256);
    LocalTensor<uint8_t> mask = rows.At<uint8_t>(4);
    mask.SetSize(512);
    // The bytes of 0 and 1, four to an element: a mask of zeros and ones.
    for (int32_t form = 0; form < 3; ++form) {
        Duplicate(mask.ReinterpretCast<int32_t>(), 0x00010001, 64);
        Duplicate(mask[256].ReinterpretCast<int32_t>(), 0x01000100, 64);
        ROW(
            float, if (form == 0) { SelectWithBytesMask(dst, part, -2.0f, mask, work, info); } else if (form == 1) {
                SelectWithBytesMask<float, uint8_t, false>(dst, -2.0f, part, mask, work, info);
            } else { Select(dst, part, -2.0f, mask, work, info); })
    }
    LocalTensor<int32_t> offset = rows.At<int32_t>(4);
    LocalTensor<half> source = rows.At<half>(5);
    LocalTensor<half> weight = rows.At<half>(6);
    Cast(source, x, RoundMode::CAST_RINT, kCount);
    Cast(weight, y, RoundMode::CAST_RINT, kCount);
    PipeBarrier<PIPE_V>();
    CreateVecIndex(offset, 0, 32U);
    PipeBarrier<PIPE_V>();
    Muls(offset, offset, 32, 32);
    weight.SetSize(32);
    const LocalTensor<uint32_t> offsets = offset.ReinterpretCast<uint32_t>();
    const LocalTensor<uint8_t> large = rows.At<uint8_t>(8);
    ROW(half, BilinearInterpolation(dst, source, offsets, weight, 128, 2, false, 1, 128, 2, large))
    ROW(half, uint64_t bits[2] = {0xFFFF, 0xFF};
        BilinearInterpolation(dst, source, offsets, weight, bits, 2, true, 1, 256, 2, large))
}

// What a reduction leaves for the scalar unit.
__aicore__ inline void Registers(VectorRows& rows, const LocalTensor<float>& x) {
    const LocalTensor<float> work = rows.At<float>(3);
    float value = 0;
    float index = 0;
    ROW(float, WholeReduceMax(dst, x, 64, 8, 1, 1, 8); PipeBarrier<PIPE_ALL>();
        GetReduceMaxMinCount<float>(value, index); dst.SetValue(100, value); dst.SetValue(101, index);
        GetReduceRepeatMaxMinSpr<float>(value, index); dst.SetValue(102, value); dst.SetValue(103, index))
    ROW(float, ReduceMin(dst, x, work, kCount); PipeBarrier<PIPE_ALL>(); GetReduceMaxMinCount<float>(value, index);
        dst.SetValue(100, value))
    ROW(float, ReduceSum(dst, x, work, kCount); PipeBarrier<PIPE_ALL>(); dst.SetValue(100, GetAccVal<float>());
        dst.SetValue(101, GetReduceRepeatSumSpr<float>()))
    ROW(float, uint64_t kept = 0;
        GatherMask(dst, x, static_cast<uint8_t>(3), false, 0, GatherMaskParams(1, 8, 8, 0), kept);
        PipeBarrier<PIPE_ALL>(); dst.SetValue(200, static_cast<float>(GetGatherMaskRemainCount())))
    ROW(float, Duplicate(dst, 2.0f, kCount); PipeBarrier<PIPE_V>(); MulAddRelu(dst, x, x, kCount))
}

}  // namespace

extern "C" __global__ __aicore__ void vector_library_headers(GM_ADDR x, GM_ADDR y, GM_ADDR out) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        VectorRows rows(pipe, x, y, out);
        const LocalTensor<float> first = rows.At<float>(0);
        const LocalTensor<float> second = rows.At<float>(1);
        Conversions(rows, first, second);
        Transpositions(rows, first);
        Sorting(rows, first);
        Library(rows, first, second);
        Registers(rows, first);
    }
}
