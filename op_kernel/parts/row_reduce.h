// SPDX-License-Identifier: Apache-2.0
// Per-row reductions and per-row operands for row-major float chunks in UB. A row is `pitch` floats, pitch a multiple
// of 64; instructions run down the rows (one repeat a row), column group by column group.
#pragma once

#include "engine/arithmetic.h"

namespace ascend_attention {

enum class RowReduction { kMax, kSum };

// result[i] = max or sum over row i; `scratch` holds rows * 64 floats. Leaves V work pending on `result`.
template <RowReduction kind>
__aicore__ inline void ReduceRows(const AscendC::LocalTensor<float>& result, const AscendC::LocalTensor<float>& chunk,
                                  const AscendC::LocalTensor<float>& scratch, int32_t rows, int32_t pitch) {
    const uint8_t row_blocks = uint8_t(pitch / kFloatsPerBlock);
    AscendC::LocalTensor<float> folded = chunk;
    int32_t folded_blocks = row_blocks;
    for (int32_t group = kFloatsPerRepeat; group < pitch; group += kFloatsPerRepeat) {
        const AscendC::BinaryRepeatParams params(1, 1, 1, 8, uint8_t(folded_blocks), row_blocks);
        if constexpr (kind == RowReduction::kMax) {
            AscendC::Max(scratch, folded, chunk[group], uint64_t(kFloatsPerRepeat), uint8_t(rows), params);
        } else {
            AscendC::Add(scratch, folded, chunk[group], uint64_t(kFloatsPerRepeat), uint8_t(rows), params);
        }
        AscendC::PipeBarrier<PIPE_V>();
        folded = scratch;
        folded_blocks = 8;
    }
    if constexpr (kind == RowReduction::kMax) {
        AscendC::WholeReduceMax(result, folded, kFloatsPerRepeat, rows, 1, 1, folded_blocks,
                                AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    } else {
        AscendC::WholeReduceSum(result, folded, kFloatsPerRepeat, rows, 1, 1, folded_blocks);
    }
}

// One 32-byte block per row, each lane the row's value: the form in which a binary instruction takes a per-row operand
// (block stride 0, repeat stride 1). Brcb works on eight rows at a time.
__aicore__ inline void BroadcastRows(const AscendC::LocalTensor<float>& blocks,
                                     const AscendC::LocalTensor<float>& values, int32_t rows) {
    AscendC::Brcb(blocks, values, uint8_t(CeilDiv(rows, kFloatsPerBlock)), AscendC::BrcbRepeatParams(1, 8));
}

enum class RowOperation { kSub, kMul, kDiv };

// chunk = chunk op (value of the row), over `columns` columns of each row.
template <RowOperation operation>
__aicore__ inline void ApplyToRows(const AscendC::LocalTensor<float>& chunk, const AscendC::LocalTensor<float>& blocks,
                                   int32_t rows, int32_t columns, int32_t pitch) {
    const uint8_t row_blocks = uint8_t(pitch / kFloatsPerBlock);
    const AscendC::BinaryRepeatParams params(1, 1, 0, row_blocks, row_blocks, 1);
    for (int32_t group = 0; group < columns; group += kFloatsPerRepeat) {
        const uint64_t lanes = uint64_t(Min(columns - group, kFloatsPerRepeat));
        if constexpr (operation == RowOperation::kSub) {
            AscendC::Sub(chunk[group], chunk[group], blocks, lanes, uint8_t(rows), params);
        } else if constexpr (operation == RowOperation::kMul) {
            AscendC::Mul(chunk[group], chunk[group], blocks, lanes, uint8_t(rows), params);
        } else {
            AscendC::Div(chunk[group], chunk[group], blocks, lanes, uint8_t(rows), params);
        }
    }
}

}  // namespace ascend_attention
