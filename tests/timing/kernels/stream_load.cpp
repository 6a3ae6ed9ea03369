// SPDX-License-Identifier: Apache-2.0
// Cores read a matrix of halves, tile by tile, and do nothing with it: GM -> UB with a stride, GM -> L1 as ND2NZ. The
// published data_copy example: rows are shared out among the cores; columns may be cut into slices, each of which is
// read `passes` times before the next.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kUbBytes = 176 * 1024;
constexpr uint32_t kL1Bytes = 512 * 1024;

struct Walk {
    uint32_t rows;  // of a core
    uint32_t columns;
    uint32_t tile_rows;
    uint32_t tile_columns;
    uint32_t slices;
    uint32_t passes;

    // Tiles go to one buffer after the other. copy(buffer, first row, first column, columns)
    template <typename Copy>
    __aicore__ inline void Run(uint32_t buffers, Copy copy) const {
        const uint32_t slice = columns / slices;
        uint32_t buffer = 0;
        for (uint32_t index = 0; index < slices; ++index) {
            const uint32_t begin = index * slice;
            const uint32_t end = index + 1 == slices ? columns : begin + slice;
            for (uint32_t pass = 0; pass < passes; ++pass) {
                for (uint32_t row = 0; row < rows; row += tile_rows) {
                    for (uint32_t column = begin; column < end; column += tile_columns) {
                        if (buffer == buffers) {
                            PipeBarrier<PIPE_MTE2>();
                            buffer = 0;
                        }
                        const uint32_t count = end - column < tile_columns ? end - column : tile_columns;
                        copy(buffer++, GetBlockIdx() * rows + row, column, count);
                    }
                }
            }
        }
    }
};

}  // namespace

extern "C" __global__ __aicore__ void stream_load_ub(GM_ADDR x, uint32_t rows, uint32_t columns, uint32_t tile_rows,
                                                     uint32_t tile_columns, uint32_t slices, uint32_t passes) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> memory;
    pipe.InitBuffer(memory, kUbBytes);
    GlobalTensor<half> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    const LocalTensor<half> target = memory.Get<half>();
    const uint32_t tile = tile_rows * tile_columns;
    Walk{rows, columns, tile_rows, tile_columns, slices, passes}.Run(
        kUbBytes / (tile * sizeof(half)), [&](uint32_t buffer, uint32_t row, uint32_t column, uint32_t count) {
            const DataCopyParams params(uint16_t(tile_rows), uint16_t(count / 16), uint16_t((columns - count) / 16), 0);
            DataCopy(target[buffer * tile], source[uint64_t(row) * columns + column], params);
        });
}

extern "C" __global__ __aicore__ void stream_load_l1(GM_ADDR x, uint32_t rows, uint32_t columns, uint32_t tile_rows,
                                                     uint32_t tile_columns, uint32_t slices, uint32_t passes) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> memory;
    pipe.InitBuffer(memory, kL1Bytes);
    GlobalTensor<half> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    Nd2NzParams params;
    params.ndNum = 1;
    params.nValue = tile_rows;
    params.srcNdMatrixStride = 0;
    params.srcDValue = columns;
    params.dstNzC0Stride = tile_rows;
    params.dstNzNStride = 1;
    params.dstNzMatrixStride = 0;
    const uint32_t tile = tile_rows * tile_columns;
    Walk{rows, columns, tile_rows, tile_columns, slices, passes}.Run(
        kL1Bytes / (tile * sizeof(half)), [&](uint32_t buffer, uint32_t row, uint32_t column, uint32_t count) {
            params.dValue = count;
            DataCopy(memory.Get<half>()[buffer * tile], source[uint64_t(row) * columns + column], params);
        });
}
