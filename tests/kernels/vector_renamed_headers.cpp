// SPDX-License-Identifier: Apache-2.0
// The names that the 9.x headers give to older vector calls: a row of the output per call, which the test compares with
// NumPy.
#include "vector_rows.h"

using namespace AscendC;

namespace {

constexpr int32_t kCount = kRowCount;

__aicore__ inline void Reductions(VectorRows& rows, const LocalTensor<float>& x) {
    uint64_t even_blocks[2] = {0x00FF00FF00FF00FF, 0};
    ROW(float, ReduceRepeat<ReduceType::SUM>(dst, x, 64, 8, 1, 1, 8))
    ROW(float, ReduceRepeat<ReduceType::MAX>(dst, x, 64, 8, 1, 1, 8))
    ROW(float, ReduceRepeat<ReduceType::MIN>(dst, x, even_blocks, 8, 2, 1, 8, ReduceOrder::ORDER_ONLY_VALUE))
    ROW(float, ReduceDataBlock<ReduceType::SUM>(dst, x, 64, 8, 1, 1, 8))
    ROW(float, ReduceDataBlock<ReduceType::MAX>(dst, x, even_blocks, 8, 1, 1, 8))
    ROW(float, ReduceDataBlock<ReduceType::MIN>(dst, x, 64, 4, 1, 1, 16))
    ROW(float, ReducePairElem<ReduceType::SUM>(dst, x, 64, 8, 1, 1, 8))
    ROW(float, ReducePairElem<ReduceType::SUM>(dst, x, even_blocks, 8, 1, 1, 8))
}

__aicore__ inline void Others(VectorRows& rows, const LocalTensor<float>& x, const LocalTensor<float>& y) {
    const UnaryRepeatParams two(1, 1, 8, 8);
    uint64_t ignored[2] = {1, 0};
    ROW(uint8_t, Compares(dst, x, 0.25f, CMPMODE::LT, kCount))
    ROW(uint8_t, Compares(dst, x, 0.0f, CMPMODE::GE, 64, 8, two))
    ROW(uint8_t, Compares(dst, x, -0.5f, CMPMODE::GT, ignored, 4, two))
    SetAtomicAdd<float>();
    DisableDmaAtomic();
    DataCopy(rows.Row(), x, kCount);
    PipeBarrier<PIPE_ALL>();
    DataCopy(rows.Row(), y, kCount);
    rows.Next();
    GlobalTensor<float> row = rows.Row();
    Fill(row, kCount, -2.5f);
    rows.Next();
    GlobalTensor<int32_t> integers;
    row = rows.Row();
    integers.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(row.GetPhyAddr(0)), kCount);
    Fill(integers, kCount, 0);
    PipeBarrier<PIPE_ALL>();
    Fill(integers, 100, 0x12345678);
    rows.Next();
}

}  // namespace

extern "C" __global__ __aicore__ void vector_renamed_headers(GM_ADDR x, GM_ADDR y, GM_ADDR out) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        VectorRows rows(pipe, x, y, out);
        const LocalTensor<float> first = rows.At<float>(0);
        const LocalTensor<float> second = rows.At<float>(1);
        Reductions(rows, first);
        Others(rows, first, second);
    }
}
