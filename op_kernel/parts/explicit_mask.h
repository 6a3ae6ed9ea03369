// SPDX-License-Identifier: Apache-2.0
// The caller's atten_mask: one byte per (query position, key), non-zero hides. Fetched by MTE2 beside the scores,
// widened to half, compared with zero into bits, and applied by Select.
#pragma once

#include "engine/row_map.h"
#include "parts/band_mask.h"
#include "plan/visible_keys.h"

namespace ascend_attention {

constexpr int32_t kBlockBytes = 32;

// Which mask rows the tile rows [row, row + rows) need. Where heads share them each is fetched once, in the order of
// positions; else one for each tile row, in the order of rows.
struct MaskRows {
    int32_t row;  // of the head, as are the next
    int32_t rows;
    bool shared;
    int32_t first;  // position
    int32_t count;  // as fetched
};

__aicore__ inline MaskRows MaskRowsOf(const AttentionPlan& plan, const SequencePlan& sequence, int32_t row,
                                      int32_t rows) {
    const PositionSpan span = PositionsOfRows(sequence, plan.group_fold, plan.row_order, row, rows);
    const int32_t count = span.last - span.first + 1;
    // Head by head, rows that run into the next head are at every position: there may be more of these than rows.
    const bool shared = plan.group_fold > 1 && count <= rows;
    return {row, rows, shared, span.first, shared ? count : rows};
}

// Fetches them into UB rows of `pitch` bytes. The bytes up to the next 32-byte block are zero-filled by the copy.
__aicore__ inline void LoadMaskRows(const AscendC::LocalTensor<uint8_t>& target, int32_t pitch,
                                    const AscendC::GlobalTensor<uint8_t>& mask, const AttentionPlan& plan,
                                    const SequencePlan& sequence, const MaskRows& needed, int32_t key, int32_t keys) {
    const int32_t padded = RoundUp(keys, kBlockBytes);
    const AscendC::DataCopyPadExtParams<uint8_t> padding(true, 0, uint8_t(padded - keys), 0);
    for (int32_t done = 0; done < needed.count;) {
        const int32_t position = needed.shared ? needed.first : RowPosition(plan, sequence, needed.row + done);
        // Consecutive positions are one strided copy.
        const int32_t count = Min(needed.count - done, sequence.query_length - position);
        const AscendC::DataCopyExtParams params(uint16_t(count), uint32_t(keys), uint32_t(plan.mask_row - keys),
                                                uint32_t((pitch - padded) / kBlockBytes), 0);
        AscendC::DataCopyPad(target[done * pitch], mask[sequence.mask + position * plan.mask_row + key], params,
                             padding);
        done += count;
    }
}

// Widens the mask rows, one for each tile row.
__aicore__ inline void WidenMaskRows(const AscendC::LocalTensor<half>& widened,
                                     const AscendC::LocalTensor<uint8_t>& mask, const AttentionPlan& plan,
                                     const SequencePlan& sequence, const MaskRows& needed, int32_t pitch) {
    if (!needed.shared) {
        AscendC::Cast(widened, mask, AscendC::RoundMode::CAST_NONE, uint32_t(needed.rows * pitch));
        return;
    }
    const int32_t heads = int32_t(plan.group_fold);
    const bool by_token = plan.row_order == RowOrder::kTokenMajor;
    for (int32_t done = 0; done < needed.rows;) {
        const int32_t row = needed.row + done;
        const int32_t position = RowPosition(plan, sequence, row);
        // Rows at one position, or of one head.
        const bool same = by_token || needed.count == 1;
        const int32_t run = needed.count == 1 ? needed.rows
                            : by_token        ? heads - row % heads
                                              : sequence.query_length - position;
        const int32_t count = Min(needed.rows - done, run);
        const AscendC::UnaryRepeatParams params(1, 1, uint8_t(pitch / kHalfsPerBlock),
                                                uint8_t(same ? 0 : pitch / kBlockBytes));
        for (int32_t group = 0; group < pitch; group += kHalfsPerRepeat) {
            AscendC::Cast(widened[done * pitch + group], mask[(position - needed.first) * pitch + group],
                          AscendC::RoundMode::CAST_NONE, uint64_t(Min(pitch - group, kHalfsPerRepeat)), uint8_t(count),
                          params);
        }
        done += count;
    }
}

// Sets the scores to -inf where the mask is not zero. `scratch` holds rows * pitch halfs, `bits` as many bits.
__aicore__ inline void ApplyMaskRows(const AscendC::LocalTensor<float>& scores,
                                     const AscendC::LocalTensor<uint8_t>& mask,
                                     const AscendC::LocalTensor<half>& scratch,
                                     const AscendC::LocalTensor<uint8_t>& bits, const AttentionPlan& plan,
                                     const SequencePlan& sequence, const MaskRows& needed, int32_t pitch,
                                     int32_t keys) {
    const int32_t padded = RoundUp(keys, kBlockBytes);
    if (padded < pitch) {  // the 32 bytes between the copied rows and the pitch, written as 16 halves of 16 bits
        AscendC::Duplicate(mask.ReinterpretCast<int16_t>()[padded / 2], int16_t(0), uint64_t((pitch - padded) / 2),
                           uint8_t(needed.count), 1, uint8_t(pitch / kBlockBytes));
        AscendC::PipeBarrier<PIPE_V>();
    }
    WidenMaskRows(scratch, mask, plan, sequence, needed, pitch);
    const int32_t elements = needed.rows * pitch;
    if (elements % kHalfsPerRepeat != 0) {  // comparisons of half take whole repeats, whatever the mask says
        AscendC::Duplicate(scratch[elements], half(0), elements % kHalfsPerRepeat);
    }
    AscendC::PipeBarrier<PIPE_V>();
    const int32_t half_repeats = CeilDiv(elements, kHalfsPerRepeat);
    AscendC::CompareScalar(bits, scratch, half(0), AscendC::CMPMODE::EQ, uint64_t(kHalfsPerRepeat),
                           uint8_t(half_repeats), AscendC::UnaryRepeatParams(1, 1, 8, 8));
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Select(scores, bits, scores, FloatFromBits(kMinusInfinityBits), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
                    uint64_t(kFloatsPerRepeat), uint8_t(elements / kFloatsPerRepeat),
                    AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
    AscendC::PipeBarrier<PIPE_V>();
}

}  // namespace ascend_attention
