// SPDX-License-Identifier: Apache-2.0
// For kernels that call many vector instructions once: a row of the output per call. Each row has 512 floats; results
// of other types are stored as their bytes.
#pragma once

#include "kernel_operator.h"

constexpr int32_t kRowCount = 512;
constexpr uint32_t kRowBytes = kRowCount * sizeof(float);

class VectorRows {
public:
    __aicore__ inline VectorRows(AscendC::TPipe& pipe, GM_ADDR x, GM_ADDR y, GM_ADDR out) {
        pipe.InitBuffer(buffer_, 16 * kRowBytes);
        source_[0].SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), kRowCount);
        source_[1].SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), kRowCount);
        out_ = out;
        AscendC::DataCopy(At<float>(0), source_[0], kRowCount);
        AscendC::DataCopy(At<float>(1), source_[1], kRowCount);
        AscendC::PipeBarrier<PIPE_ALL>();
    }

    template <typename T>
    __aicore__ inline AscendC::LocalTensor<T> At(uint32_t row) {
        return buffer_.GetWithOffset<T>(kRowBytes / sizeof(T), row * kRowBytes);
    }

    // The row every call writes, cleared so that lanes left alone are zeros.
    template <typename T>
    __aicore__ inline AscendC::LocalTensor<T> Result() {
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::Duplicate(At<float>(2), 0.0f, kRowCount);
        AscendC::PipeBarrier<PIPE_ALL>();
        return At<T>(2);
    }

    __aicore__ inline void Store() {
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopy(Row(), At<float>(2), kRowCount);
        Next();
    }

    // For calls that write to global memory themselves.
    __aicore__ inline AscendC::GlobalTensor<float> Row() {
        AscendC::GlobalTensor<float> row;
        row.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out_) + next_ * kRowCount, kRowCount);
        return row;
    }
    __aicore__ inline void Next() {
        AscendC::PipeBarrier<PIPE_ALL>();
        ++next_;
    }

    __aicore__ inline AscendC::GlobalTensor<float> Source(int32_t index) { return source_[index]; }

private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    AscendC::GlobalTensor<float> source_[2];
    GM_ADDR out_;
    int64_t next_ = 0;
};

#define ROW(T, ...)                            \
    {                                          \
        LocalTensor<T> dst = rows.Result<T>(); \
        __VA_ARGS__;                           \
        rows.Store();                          \
    }
