// SPDX-License-Identifier: Apache-2.0
// The caller's atten_mask: one byte per (query position, key), non-zero hides. Fetched by MTE2 beside the scores,
// widened to half, compared with zero into bits, and applied by Select.
#pragma once

#include "engine/row_map.h"
#include "parts/band_mask.h"

namespace ascend_attention {

constexpr int32_t kBlockBytes = 32;

// Fetches the mask rows of `rows` tile rows from `row` into UB rows of `pitch` bytes. The bytes up to the next 32-byte
// block are zero-filled by the copy.
__aicore__ inline void LoadMaskRows(const AscendC::LocalTensor<uint8_t>& target, int32_t pitch,
                                    const AscendC::GlobalTensor<uint8_t>& mask, const AttentionPlan& plan,
                                    const SequencePlan& sequence, int32_t row, int32_t rows, int32_t key,
                                    int32_t keys) {
    const int32_t padded = RoundUp(keys, kBlockBytes);
    const AscendC::DataCopyPadExtParams<uint8_t> padding(true, 0, uint8_t(padded - keys), 0);
    for (int32_t done = 0; done < rows;) {
        const int32_t position = RowPosition(plan, sequence, row + done);
        // Heads of a token share its mask row; consecutive positions of a head are one strided copy.
        const int32_t count = plan.row_order == RowOrder::kTokenMajor && plan.group_fold > 1
                                  ? 1
                                  : Min(rows - done, sequence.query_length - position);
        const AscendC::DataCopyExtParams params(uint16_t(count), uint32_t(keys), uint32_t(plan.mask_row - keys),
                                                uint32_t((pitch - padded) / kBlockBytes), 0);
        AscendC::DataCopyPad(target[done * pitch], mask[sequence.mask + position * plan.mask_row + key], params,
                             padding);
        done += count;
    }
}

// Sets the scores to -inf where the mask is not zero. `scratch` holds rows * pitch halfs, `bits` as many bits.
__aicore__ inline void ApplyMaskRows(const AscendC::LocalTensor<float>& scores,
                                     const AscendC::LocalTensor<uint8_t>& mask,
                                     const AscendC::LocalTensor<half>& scratch,
                                     const AscendC::LocalTensor<uint8_t>& bits, int32_t rows, int32_t pitch,
                                     int32_t keys) {
    const int32_t padded = RoundUp(keys, kBlockBytes);
    if (padded < pitch) {  // the 32 bytes between the copied rows and the pitch, written as 16 halves of 16 bits
        AscendC::Duplicate(mask.ReinterpretCast<int16_t>()[padded / 2], int16_t(0), uint64_t((pitch - padded) / 2),
                           uint8_t(rows), 1, uint8_t(pitch / kBlockBytes));
        AscendC::PipeBarrier<PIPE_V>();
    }
    const int32_t elements = rows * pitch;
    AscendC::Cast(scratch, mask, AscendC::RoundMode::CAST_NONE, uint32_t(elements));
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
