// SPDX-License-Identifier: Apache-2.0
// Global memory -> L1: rows of a row-major matrix into the NZ form that the cube unit loads from (columns in strips of
// 16, each strip all rows one below the other).
#pragma once

#include "engine/row_map.h"

namespace ascend_attention {

constexpr int64_t kNd2NzStrideMax = 65535;  // srcDValue of ND2NZ, elements

// Channels as the cube unit multiplies them. ND2NZ completes a last strip that the channels do not fill with zeros.
__aicore__ inline int32_t WholeStrips(uint32_t channels) { return RoundUp(int32_t(channels), kFractal); }

// Copies `rows` rows of `columns` elements to the rows from `first_row` of a tile that holds `tile_rows` rows a strip.
template <typename T>
__aicore__ inline void CopyRunToNz(const AscendC::LocalTensor<T>& tile, int32_t tile_rows, int32_t first_row,
                                   const AscendC::GlobalTensor<T>& source, const RowRun& run, int32_t columns) {
    AscendC::Nd2NzParams params;
    params.ndNum = 1;
    params.dValue = uint16_t(columns);
    params.srcNdMatrixStride = 0;
    params.dstNzC0Stride = uint16_t(tile_rows);
    params.dstNzNStride = 1;
    params.dstNzMatrixStride = 0;
    if (run.stride <= kNd2NzStrideMax) {
        params.nValue = uint16_t(run.count);
        params.srcDValue = uint16_t(run.stride);
        AscendC::DataCopy(tile[first_row * kFractal], source[run.offset], params);
        return;
    }
    // Rows further apart than the instruction can step: one instruction for each.
    params.nValue = 1;
    params.srcDValue = uint16_t(columns);
    for (int32_t row = 0; row < run.count; ++row) {
        AscendC::DataCopy(tile[(first_row + row) * kFractal], source[run.offset + row * run.stride], params);
    }
}

// Copies rows of a matrix that lies in strips already, `strip_rows` rows each: `rows` rows of `columns` elements.
template <typename T>
__aicore__ inline void CopyStripsToNz(const AscendC::LocalTensor<T>& tile, int32_t tile_rows, int32_t first_row,
                                      const AscendC::GlobalTensor<T>& source, int64_t offset, int32_t strip_rows,
                                      int32_t rows, int32_t columns) {
    const AscendC::DataCopyParams params(uint16_t(columns / kFractal), uint16_t(rows), uint16_t(strip_rows - rows),
                                         uint16_t(tile_rows - rows));
    AscendC::DataCopy(tile[first_row * kFractal], source[offset], params);
}

// Left operand of a product. Mmad with m == 1 would read L0A as one packed row (GEMV), so a lone row is copied twice
// and multiplied as two.
constexpr int32_t kLeftRowsMin = 2;

template <typename T>
__aicore__ inline void CopyLeftRunToNz(const AscendC::LocalTensor<T>& tile, int32_t tile_rows, int32_t total_rows,
                                       int32_t first_row, const AscendC::GlobalTensor<T>& source, const RowRun& run,
                                       int32_t columns) {
    CopyRunToNz(tile, tile_rows, first_row, source, run, columns);
    if (total_rows == 1) {
        CopyRunToNz(tile, tile_rows, 1, source, run, columns);
    }
}

}  // namespace ascend_attention
