// SPDX-License-Identifier: Apache-2.0
// C = A B in the way of catlass: blocks of C go to the cores in swizzled order, both operands of a step of k lie in two
// buffers of L1 and are loaded one step ahead, each core beginning at another step. B comes transposed (columns x
// depth) or, with `nz`, as [columns / 16][depth][16].
#include "matmul_parts.h"

using namespace AscendC;
using namespace matmul_parts;

namespace {

struct Shape {
    int32_t rows;
    int32_t columns;
    int32_t depth;
    int32_t block_rows;  // of C, and steps of k in L1 and L0
    int32_t block_columns;
    int32_t step;
    int32_t part;
    int32_t nz;
    int32_t swizzle;  // blocks in a group: side by side if positive, one below the other if negative
};

__aicore__ inline int32_t Ceil(int32_t value, int32_t divisor) { return (value + divisor - 1) / divisor; }
__aicore__ inline int32_t Least(int32_t a, int32_t b) { return a < b ? a : b; }

template <typename T, typename Result>
class Core {
public:
    __aicore__ inline Core(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR c, const Shape& shape) : shape_(shape) {
        left_size_ = shape.block_rows * shape.step;
        right_size_ = shape.block_columns * shape.step;
        buffers_.Init(pipe, 2 * (left_size_ + right_size_), shape.block_rows * shape.part,
                      shape.block_columns * shape.part, shape.block_rows * shape.block_columns);
        a_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(a));
        b_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(b));
        c_.SetGlobalBuffer(reinterpret_cast<__gm__ Result*>(c));
    }

    __aicore__ inline void Run() {
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
            SetFlag<HardEvent::M_MTE1>(kL0 + i);
        }
        SetFlag<HardEvent::FIX_M>(0);
        const int32_t blocks = Ceil(shape_.rows, shape_.block_rows) * Ceil(shape_.columns, shape_.block_columns);
        const int32_t mine = Ceil(blocks - int32_t(GetBlockIdx()), int32_t(GetBlockNum()));
        const int32_t steps = shape_.depth / shape_.step;
        for (int32_t i = 0; i <= mine * steps; ++i) {
            if (i < mine * steps) {
                Place(i / steps);
                Load(i % 2, (i + int32_t(GetBlockIdx())) % steps * shape_.step);
            }
            if (i > 0) {
                Place((i - 1) / steps);
                Compute((i - 1) % 2, (i - 1) % steps == 0);
                if (i % steps == 0) {
                    Store(c_[int64_t(first_row_) * shape_.columns + first_column_], buffers_, rows_, columns_,
                          Ceil(rows_, kFractal) * kFractal, shape_.columns);
                }
            }
        }
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
            WaitFlag<HardEvent::M_MTE1>(kL0 + i);
        }
        WaitFlag<HardEvent::FIX_M>(0);
    }

private:
    static constexpr int32_t kC0 = 32 / sizeof(T);

    // The core's block number `index`.
    __aicore__ inline void Place(int32_t index) {
        const int32_t block = int32_t(GetBlockIdx()) + index * int32_t(GetBlockNum());
        const int32_t down = Ceil(shape_.rows, shape_.block_rows);
        const int32_t across = Ceil(shape_.columns, shape_.block_columns);
        const bool sideways = shape_.swizzle > 0;
        const int32_t width = sideways ? shape_.swizzle : -shape_.swizzle;
        const int32_t grouped = sideways ? across : down;
        const int32_t other = sideways ? down : across;
        const int32_t group = block / (width * other);
        const int32_t within = block % (width * other);
        const int32_t in_group = Least(width, grouped - group * width);
        const int32_t position = group * width + within % in_group;
        const int32_t line = group % 2 == 0 ? within / in_group : other - 1 - within / in_group;
        first_row_ = (sideways ? line : position) * shape_.block_rows;
        first_column_ = (sideways ? position : line) * shape_.block_columns;
        rows_ = Least(shape_.block_rows, shape_.rows - first_row_);
        columns_ = Least(shape_.block_columns, shape_.columns - first_column_);
    }

    __aicore__ inline LocalTensor<T> Left(int32_t buffer) { return buffers_.l1.template Get<T>()[buffer * left_size_]; }
    __aicore__ inline LocalTensor<T> Right(int32_t buffer) {
        return buffers_.l1.template Get<T>()[2 * left_size_ + buffer * right_size_];
    }

    __aicore__ inline void Load(int32_t buffer, int32_t k) {
        WaitFlag<HardEvent::MTE1_MTE2>(buffer);
        ToNz(Left(buffer), a_[int64_t(first_row_) * shape_.depth + k], rows_, shape_.step, shape_.depth,
             shape_.block_rows);
        if (shape_.nz == 0) {
            ToNz(Right(buffer), b_[int64_t(first_column_) * shape_.depth + k], columns_, shape_.step, shape_.depth,
                 shape_.block_columns);
        } else {
            DataCopyParams params;
            params.blockCount = Ceil(columns_, kFractal);
            params.blockLen = shape_.step;
            params.srcStride = shape_.depth - shape_.step;
            params.dstStride = 0;
            DataCopy(Right(buffer), b_[int64_t(first_column_) * shape_.depth + k * kC0], params);
        }
        SetFlag<HardEvent::MTE2_MTE1>(buffer);
    }

    __aicore__ inline void Compute(int32_t buffer, bool first) {
        WaitFlag<HardEvent::MTE2_MTE1>(buffer);
        for (int32_t k = 0; k < shape_.step; k += shape_.part) {
            const int32_t l0 = k / shape_.part % 2;
            WaitFlag<HardEvent::M_MTE1>(kL0 + l0);
            LoadLeft(l0, buffer, k);
            LoadRight(l0, buffer, k);
            const int32_t m = Ceil(rows_, kFractal) * kFractal;
            const int32_t n = Ceil(columns_, kFractal) * kFractal;
            Multiply(buffers_, l0, l0 * shape_.block_rows * shape_.part, l0 * shape_.block_columns * shape_.part, m, n,
                     shape_.part, first && k == 0);
            if (m / kFractal * (n / kFractal) < 10) {
                PipeBarrier<PIPE_M>();  // the next product adds to this one
            }
        }
        SetFlag<HardEvent::MTE1_MTE2>(buffer);
    }

    __aicore__ inline void LoadLeft(int32_t l0, int32_t buffer, int32_t k) {
        LoadData2DParams params;
        params.repeatTimes = shape_.part / kC0;
        params.srcStride = shape_.block_rows / kFractal;
        for (int32_t row = 0; row < rows_; row += kFractal) {
            LoadData(buffers_.l0a.template Get<T>()[(l0 * shape_.block_rows + row) * shape_.part],
                     Left(buffer)[k * shape_.block_rows + row * kC0], params);
        }
    }

    __aicore__ inline void LoadRight(int32_t l0, int32_t buffer, int32_t k) {
        LoadData2DParams params;
        params.repeatTimes = Ceil(columns_, kFractal);
        params.srcStride = shape_.nz == 0 ? 1 : shape_.step / kFractal;
        params.ifTranspose = shape_.nz != 0;
        const int32_t columns = params.repeatTimes * kFractal;
        for (int32_t i = 0; i < shape_.part; i += kC0) {
            const int32_t source = shape_.nz == 0 ? (k + i) * shape_.block_columns : (k + i) * kFractal;
            LoadData(buffers_.l0b.template Get<T>()[l0 * shape_.block_columns * shape_.part + i * columns],
                     Right(buffer)[source], params);
        }
    }

    Shape shape_;
    int32_t left_size_;
    int32_t right_size_;
    int32_t first_row_ = 0;
    int32_t first_column_ = 0;
    int32_t rows_ = 0;
    int32_t columns_ = 0;
    Buffers<T> buffers_;  // in L1: A twice, B twice
    GlobalTensor<T> a_;
    GlobalTensor<T> b_;
    GlobalTensor<Result> c_;
};

}  // namespace

extern "C" __global__ __aicore__ void block_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t rows, int32_t columns,
                                                   int32_t depth, int32_t block_rows, int32_t block_columns,
                                                   int32_t step, int32_t part, int32_t nz, int32_t swizzle) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    const Shape shape{rows, columns, depth, block_rows, block_columns, step, part, nz, swizzle};
    Core<half, half> core(pipe, a, b, c, shape);
    core.Run();
}

extern "C" __global__ __aicore__ void block_matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t rows, int32_t columns,
                                                         int32_t depth, int32_t block_rows, int32_t block_columns,
                                                         int32_t step, int32_t part, int32_t nz, int32_t swizzle) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    const Shape shape{rows, columns, depth, block_rows, block_columns, step, part, nz, swizzle};
    Core<float, float> core(pipe, a, b, c, shape);
    core.Run();
}
