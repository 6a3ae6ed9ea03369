// SPDX-License-Identifier: Apache-2.0
// Writing finished rows: 16-bit output rows and float LSE values, wherever the layout wants them.
#pragma once

#include "engine/row_map.h"

namespace ascend_attention {

// Stores `rows` rows of `channels` 16-bit values that lie `pitch` values apart in UB.
template <typename T>
__aicore__ inline void StoreRows(const AscendC::GlobalTensor<T>& target, const RowMap& map, int32_t row, int32_t rows,
                                 const AscendC::LocalTensor<T>& source, int32_t pitch, int32_t channels) {
    for (int32_t done = 0; done < rows;) {
        const RowRun run = map.RunAt(row + done, rows - done);
        const int64_t gap = (run.stride - channels) * int64_t(sizeof(T));
        const int32_t count = RowsOfCopy(run, gap);
        const AscendC::DataCopyExtParams params(uint16_t(count), uint32_t(channels * int32_t(sizeof(T))),
                                                uint32_t(pitch / kHalfsPerBlock - CeilDiv(channels, kHalfsPerBlock)),
                                                uint32_t(gap), 0);
        AscendC::DataCopyPad(target[run.offset], source[done * pitch], params);
        done += count;
    }
}

// Stores one float per row. `blocks` holds each row's value at the start of its own 32-byte block, because a copy can
// only start at a block.
__aicore__ inline void StoreRowValues(const AscendC::GlobalTensor<float>& target, const RowMap& map, int32_t row,
                                      int32_t rows, const AscendC::LocalTensor<float>& blocks) {
    for (int32_t done = 0; done < rows;) {
        const RowRun run = map.RunAt(row + done, rows - done);
        const int64_t gap = (run.stride - 1) * int64_t(sizeof(float));
        const int32_t count = RowsOfCopy(run, gap);
        const AscendC::DataCopyExtParams params(uint16_t(count), uint32_t(sizeof(float)), 0, uint32_t(gap), 0);
        AscendC::DataCopyPad(target[run.offset], blocks[done * kFloatsPerBlock], params);
        done += count;
    }
}

}  // namespace ascend_attention
