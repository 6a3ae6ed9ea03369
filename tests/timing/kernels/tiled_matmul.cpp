// SPDX-License-Identifier: Apache-2.0
// C = A B for half matrices in the way of the published matmul examples: 128 x 256 results at a time, k in steps of 64,
// pieces of A (128 x `left`) and B (`right` x 256) in L1, in as many buffers as the shape says (1 or 2), L0A and L0B in
// two; `left` is a multiple of `right`. A core computes the first `tiles` of the results in its part of C, column by
// column; `narrow` rounds C to half.
#include "matmul_parts.h"

using namespace AscendC;
using namespace matmul_parts;

namespace {

constexpr int32_t kRows = 128;
constexpr int32_t kColumns = 256;
constexpr int32_t kStep = 64;  // k of one Mmad
constexpr int32_t kFractalElements = kFractal * kFractal;

struct Shape {
    int32_t rows;
    int32_t columns;
    int32_t depth;
    int32_t part_rows;  // of C, one core
    int32_t part_columns;
    int32_t left;   // k of a piece of A
    int32_t right;  // and of B
    int32_t buffers;
};

class Core {
public:
    __aicore__ inline Core(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR c, const Shape& shape, bool narrow)
        : shape_(shape), narrow_(narrow) {
        buffers_.Init(pipe, shape.buffers * (kRows * shape.left + shape.right * kColumns), kRows * kStep,
                      kStep * kColumns, kRows * kColumns);
        const int32_t parts = shape.columns / shape.part_columns + (shape.columns % shape.part_columns != 0);
        first_row_ = int32_t(GetBlockIdx()) / parts * shape.part_rows;
        first_column_ = int32_t(GetBlockIdx()) % parts * shape.part_columns;
        a_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
        b_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
        c_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c));
        narrow_c_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(c));
    }

    __aicore__ inline void Run(int32_t tiles) {
        for (int32_t i = 0; i < 4; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
        }
        SetFlag<HardEvent::M_MTE1>(kL0);
        SetFlag<HardEvent::M_MTE1>(kL0 + 1);
        SetFlag<HardEvent::FIX_M>(0);
        const int32_t pieces = shape_.depth / shape_.right;
        const int32_t all = tiles * pieces;
        const int32_t ahead = shape_.buffers - 1;
        for (int32_t piece = 0; piece < all + ahead; ++piece) {
            if (piece < all) {
                Load(piece, piece / pieces, piece % pieces * shape_.right);
            }
            if (piece >= ahead) {
                Compute(piece - ahead, (piece - ahead) / pieces, (piece - ahead) % pieces, pieces);
            }
        }
        for (int32_t i = 0; i < 4; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
        }
        WaitFlag<HardEvent::M_MTE1>(kL0);
        WaitFlag<HardEvent::M_MTE1>(kL0 + 1);
        WaitFlag<HardEvent::FIX_M>(0);
    }

private:
    __aicore__ inline int32_t RowOf(int32_t tile) const {
        return first_row_ + tile % (shape_.part_rows / kRows) * kRows;
    }
    __aicore__ inline int32_t ColumnOf(int32_t tile) const {
        return first_column_ + tile / (shape_.part_rows / kRows) * kColumns;
    }
    __aicore__ inline LocalTensor<half> Left(int32_t buffer) {
        return buffers_.l1.Get<half>()[buffer * kRows * shape_.left];
    }
    __aicore__ inline LocalTensor<half> Right(int32_t buffer) {
        return buffers_.l1.Get<half>()[shape_.buffers * kRows * shape_.left + buffer * shape_.right * kColumns];
    }

    // Pieces of A hold two pieces of B along k.
    __aicore__ inline void Load(int32_t piece, int32_t tile, int32_t k) {
        if (k % shape_.left == 0) {
            const int32_t buffer = left_loads_++ % shape_.buffers;
            WaitFlag<HardEvent::MTE1_MTE2>(2 + buffer);
            ToNz(Left(buffer), a_[int64_t(RowOf(tile)) * shape_.depth + k], kRows, shape_.left, shape_.depth, kRows);
        }
        const int32_t buffer = piece % shape_.buffers;
        WaitFlag<HardEvent::MTE1_MTE2>(buffer);
        ToNz(Right(buffer), b_[int64_t(k) * shape_.columns + ColumnOf(tile)], shape_.right, kColumns, shape_.columns,
             shape_.right);
        SetFlag<HardEvent::MTE2_MTE1>(buffer);
    }

    __aicore__ inline void Compute(int32_t piece, int32_t tile, int32_t index, int32_t pieces) {
        const int32_t buffer = piece % shape_.buffers;
        const int32_t half_left = index % (shape_.left / shape_.right);
        if (half_left == 0) {
            left_ = left_uses_++ % shape_.buffers;
        }
        WaitFlag<HardEvent::MTE2_MTE1>(buffer);
        for (int32_t step = 0; step < shape_.right / kStep; ++step) {
            const int32_t l0 = step % 2;
            WaitFlag<HardEvent::M_MTE1>(kL0 + l0);
            LoadLeft(l0, half_left * shape_.right + step * kStep);
            LoadRight(l0, buffer, step * kStep);
            Multiply(buffers_, l0, l0 * kRows * kStep, l0 * kStep * kColumns, kRows, kColumns, kStep,
                     index == 0 && step == 0);
        }
        SetFlag<HardEvent::MTE1_MTE2>(buffer);
        if (half_left == shape_.left / shape_.right - 1) {
            SetFlag<HardEvent::MTE1_MTE2>(2 + left_);
        }
        if (index == pieces - 1) {
            Store(tile);
        }
    }

    __aicore__ inline void LoadLeft(int32_t l0, int32_t k) {
        constexpr int32_t kRowFractals = kRows / kFractal;
        constexpr int32_t kStepFractals = kStep / kFractal;
        LoadData2DParams params;
        params.repeatTimes = kStepFractals;
        params.srcStride = kRowFractals;
        const LocalTensor<half> source = Left(left_)[k * kRows];
        for (int32_t i = 0; i < kRowFractals; ++i) {
            LoadData(buffers_.l0a.Get<half>()[l0 * kRows * kStep + i * kStepFractals * kFractalElements],
                     source[i * kFractalElements], params);
        }
    }

    __aicore__ inline void LoadRight(int32_t l0, int32_t buffer, int32_t k) {
        LoadData2DParams params;
        params.repeatTimes = kColumns / kFractal;
        params.srcStride = shape_.right / kFractal;
        params.ifTranspose = true;
        for (int32_t i = 0; i < kStep / kFractal; ++i) {
            LoadData(buffers_.l0b.Get<half>()[l0 * kStep * kColumns + i * kFractal * kColumns],
                     Right(buffer)[(k + i * kFractal) * kFractal], params);
        }
    }

    __aicore__ inline void Store(int32_t tile) {
        const int64_t target = int64_t(RowOf(tile)) * shape_.columns + ColumnOf(tile);
        if (narrow_) {
            matmul_parts::Store(narrow_c_[target], buffers_, kRows, kColumns, kRows, shape_.columns);
        } else {
            matmul_parts::Store(c_[target], buffers_, kRows, kColumns, kRows, shape_.columns);
        }
    }

    Shape shape_;
    bool narrow_;
    int32_t first_row_;
    int32_t first_column_;
    int32_t left_ = 0;
    int32_t left_loads_ = 0;
    int32_t left_uses_ = 0;
    Buffers<half> buffers_;
    GlobalTensor<half> a_;
    GlobalTensor<half> b_;
    GlobalTensor<float> c_;
    GlobalTensor<half> narrow_c_;
};

}  // namespace

extern "C" __global__ __aicore__ void tiled_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t rows, int32_t columns,
                                                   int32_t depth, int32_t part_rows, int32_t part_columns,
                                                   int32_t tiles, int32_t narrow, int32_t left, int32_t right,
                                                   int32_t buffers) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    Core core(pipe, a, b, c, Shape{rows, columns, depth, part_rows, part_columns, left, right, buffers}, narrow != 0);
    core.Run(tiles);
}
