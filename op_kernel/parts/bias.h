// SPDX-License-Identifier: Apache-2.0
// The caller's pse_shift: one 16-bit value per (query head, query position, key), added to the scaled scores before
// anything is hidden. Fetched by MTE2 beside the scores and widened to float.
#pragma once

#include "engine/row_map.h"

namespace ascend_attention {

// Fetches `keys` values from `key` on of the bias rows that belong to the tile rows [row, row + rows) into UB rows of
// `pitch` values. Columns behind the last key are not read.
__aicore__ inline void LoadBiasRows(const AscendC::LocalTensor<uint16_t>& target, int32_t pitch,
                                    const AscendC::GlobalTensor<uint16_t>& bias, const RowMap& map, int32_t row,
                                    int32_t rows, int32_t key, int32_t keys) {
    const int32_t padded = RoundUp(keys, kHalfsPerBlock);
    const AscendC::DataCopyPadExtParams<uint16_t> padding(true, 0, uint8_t(padded - keys), 0);
    for (int32_t done = 0; done < rows;) {
        const RowRun run = map.RunAt(row + done, rows - done);
        const int64_t gap = (run.stride - keys) * int64_t(sizeof(uint16_t));
        const int32_t count = RowsOfCopy(run, gap);
        const AscendC::DataCopyExtParams params(uint16_t(count), uint32_t(keys * int32_t(sizeof(uint16_t))),
                                                uint32_t(gap), uint32_t((pitch - padded) / kHalfsPerBlock), 0);
        AscendC::DataCopyPad(target[done * pitch], bias[run.offset + key], params, padding);
        done += count;
    }
}

// scores += bias over the first `keys` columns of each row. `widened` holds rows * pitch floats.
template <typename T>
__aicore__ inline void AddBiasRows(const AscendC::LocalTensor<float>& scores, const AscendC::LocalTensor<T>& bias,
                                   const AscendC::LocalTensor<float>& widened, int32_t rows, int32_t pitch,
                                   int32_t keys) {
    const uint8_t row_blocks = uint8_t(pitch / kFloatsPerBlock);
    const AscendC::UnaryRepeatParams widen(1, 1, row_blocks, uint8_t(pitch / kHalfsPerBlock));
    const AscendC::BinaryRepeatParams add(1, 1, 1, row_blocks, row_blocks, row_blocks);
    for (int32_t group = 0; group < keys; group += kFloatsPerRepeat) {
        const uint64_t lanes = uint64_t(Min(keys - group, kFloatsPerRepeat));
        AscendC::Cast(widened[group], bias[group], AscendC::RoundMode::CAST_NONE, lanes, uint8_t(rows), widen);
    }
    AscendC::PipeBarrier<PIPE_V>();
    for (int32_t group = 0; group < keys; group += kFloatsPerRepeat) {
        const uint64_t lanes = uint64_t(Min(keys - group, kFloatsPerRepeat));
        AscendC::Add(scores[group], scores[group], widened[group], lanes, uint8_t(rows), add);
    }
    AscendC::PipeBarrier<PIPE_V>();
}

}  // namespace ascend_attention
