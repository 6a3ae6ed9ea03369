// SPDX-License-Identifier: Apache-2.0
// Per-row reductions and per-row operands for row-major float chunks in UB. A row is `pitch` floats, pitch a multiple
// of 64; instructions run down the rows (one repeat a row), column group by column group.
#pragma once

#include "engine/arithmetic.h"

namespace ascend_attention {

enum class RowReduction { kMax, kSum };

template <RowReduction kind>
__aicore__ inline void ReduceBlocks(const AscendC::LocalTensor<float>& result, const AscendC::LocalTensor<float>& from,
                                    int32_t repeats, int32_t block_stride, int32_t repeat_stride) {
    if constexpr (kind == RowReduction::kMax) {
        AscendC::BlockReduceMax(result, from, repeats, kFloatsPerRepeat, 1, block_stride, repeat_stride);
    } else {
        AscendC::BlockReduceSum(result, from, repeats, kFloatsPerRepeat, 1, block_stride, repeat_stride);
    }
}

// Block `to` of each row = max or sum of itself and block `from`; rows are `row_blocks` blocks, eight of them a repeat.
template <RowReduction kind>
__aicore__ inline void FoldBlocks(const AscendC::LocalTensor<float>& blocks, int32_t to, int32_t from, int32_t rows,
                                  int32_t row_blocks) {
    const uint8_t stride = uint8_t(row_blocks);
    const uint8_t repeat = uint8_t(row_blocks * kFloatsPerBlock);
    const AscendC::BinaryRepeatParams params(stride, stride, stride, repeat, repeat, repeat);
    for (int32_t done = 0; done < rows;) {
        const int32_t left = rows - done;
        const int32_t repeats = Max(left / kFloatsPerBlock, 1);
        const uint64_t lanes = uint64_t(Min(left, kFloatsPerBlock) * kFloatsPerBlock);
        const AscendC::LocalTensor<float> row = blocks[done * row_blocks * kFloatsPerBlock];
        const AscendC::LocalTensor<float> target = row[to * kFloatsPerBlock];
        if constexpr (kind == RowReduction::kMax) {
            AscendC::Max(target, target, row[from * kFloatsPerBlock], lanes, uint8_t(repeats), params);
        } else {
            AscendC::Add(target, target, row[from * kFloatsPerBlock], lanes, uint8_t(repeats), params);
        }
        done += repeats * kFloatsPerBlock;
    }
}

// result[i] = max or sum over row i; `scratch` holds rows * (pitch / 8 + 8) floats. Leaves V work pending on `result`.
// A block of eight floats becomes one float at the rate of a one-source instruction, which is cheaper than reducing
// whole repeats or folding columns with two-source instructions.
template <RowReduction kind>
__aicore__ inline void ReduceRows(const AscendC::LocalTensor<float>& result, const AscendC::LocalTensor<float>& chunk,
                                  const AscendC::LocalTensor<float>& scratch, int32_t rows, int32_t pitch) {
    const int32_t groups = pitch / kFloatsPerRepeat;
    ReduceBlocks<kind>(scratch, chunk, rows * groups, 1, 8);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::LocalTensor<float> blocks = scratch;  // `groups` blocks a row
    int32_t row_blocks = groups;
    if (groups == 8) {  // a repeat a row
        blocks = scratch[rows * groups * kFloatsPerBlock];
        row_blocks = 1;
        ReduceBlocks<kind>(blocks, scratch, rows, 1, 8);
        AscendC::PipeBarrier<PIPE_V>();
    }
    for (int32_t left = row_blocks; left > 1; left -= left / 2) {
        for (int32_t i = 0; i < left / 2; ++i) {
            FoldBlocks<kind>(blocks, i, left - left / 2 + i, rows, row_blocks);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }
    const int32_t full = rows / kFloatsPerBlock;
    if (full > 0) {
        ReduceBlocks<kind>(result, blocks, full, row_blocks, row_blocks * kFloatsPerBlock);
    }
    const int32_t rest = full * kFloatsPerBlock;
    if (rest < rows) {  // fewer than eight rows: one repeat each, so that nothing is written past them
        const AscendC::LocalTensor<float> row = blocks[rest * row_blocks * kFloatsPerBlock];
        if constexpr (kind == RowReduction::kMax) {
            AscendC::WholeReduceMax(result[rest], row, kFloatsPerBlock, rows - rest, 1, 1, row_blocks,
                                    AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            AscendC::WholeReduceSum(result[rest], row, kFloatsPerBlock, rows - rest, 1, 1, row_blocks);
        }
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

// total = addend, or total += addend, over `columns` columns of each row.
__aicore__ inline void AccumulateRows(const AscendC::LocalTensor<float>& total,
                                      const AscendC::LocalTensor<float>& addend, int32_t rows, int32_t columns,
                                      int32_t pitch, int32_t addend_pitch, bool first) {
    const uint8_t total_blocks = uint8_t(pitch / kFloatsPerBlock);
    const uint8_t addend_blocks = uint8_t(addend_pitch / kFloatsPerBlock);
    for (int32_t group = 0; group < columns; group += kFloatsPerRepeat) {
        const uint64_t lanes = uint64_t(Min(columns - group, kFloatsPerRepeat));
        if (first) {
            AscendC::Muls(total[group], addend[group], 1.0F, lanes, uint8_t(rows),
                          AscendC::UnaryRepeatParams(1, 1, total_blocks, addend_blocks));
        } else {
            AscendC::Add(total[group], total[group], addend[group], lanes, uint8_t(rows),
                         AscendC::BinaryRepeatParams(1, 1, 1, total_blocks, total_blocks, addend_blocks));
        }
    }
}

}  // namespace ascend_attention
