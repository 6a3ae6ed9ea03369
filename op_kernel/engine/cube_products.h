// SPDX-License-Identifier: Apache-2.0
// What the cube core has in L0, and a product step by step: operands from L1, accumulation in L0C, the result to global
// memory. Pieces are up to 128 x 128 x 128; L0A and L0B buffers are taken in pairs, in turns.
//
// Mmad and Fixpipe hand an accumulator to each other by its unit flags, 512 bytes at a time: with unitFlag 3 the last
// Mmad of a product gives away what Fixpipe, with 3 as well, takes while it is being computed, and the next product's
// first Mmad follows Fixpipe in the same way. Every Mmad before the last one has 2.
#pragma once

#include "engine/memory.h"
#include "parts/operand_copy.h"

namespace ascend_attention {

// An NZ matrix in L1 whose strips are `fractals` fractals high.
template <typename T>
struct CubeOperand {
    AscendC::LocalTensor<T> data;
    int32_t fractals;
};

template <typename T>
class CubeProducts {
public:
    __aicore__ inline explicit CubeProducts(AscendC::TPipe& pipe) {
        pipe.InitBuffer(l0a_, sizeof(L0AMemory));
        pipe.InitBuffer(l0b_, sizeof(L0BMemory));
        pipe.InitBuffer(l0c_, sizeof(L0CMemory));
        for (int32_t i = 0; i < kL0Buffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + i);
        }
    }

    // Set and wait must pair: takes back the "free" events.
    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < kL0Buffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + i);
        }
    }

    // L1 -> L0A: NZ strips to ZZ, one instruction per 16 rows. `strip` is the first 16-column strip. Of an operand that
    // comes in parts these are the columns from `first` of `all`.
    __aicore__ inline void LoadLeft(int32_t l0, const AscendC::LocalTensor<T>& source, int32_t rows, int32_t strip,
                                    int32_t columns, int32_t first = 0, int32_t all = 0) {
        const int32_t row_fractals = CeilDiv(rows, kFractal);
        const int32_t column_fractals = CeilDiv(columns, kFractal);
        const int32_t pitch = all > 0 ? CeilDiv(all, kFractal) : column_fractals;
        AscendC::LoadData2DParams params;
        params.repeatTimes = uint8_t(column_fractals);
        params.srcStride = uint16_t(row_fractals);
        for (int32_t i = 0; i < row_fractals; ++i) {
            AscendC::LoadData(Left(l0)[(i * pitch + first / kFractal) * kFractalElements],
                              source[(strip * row_fractals + i) * kFractalElements], params);
        }
    }

    // L1 -> L0B for K: in NZ it is K^T in the ZN form of L0B, fractals in the same order, none transposed. The strips
    // become those from `target` of the product.
    __aicore__ inline void LoadKeyRight(int32_t l0, const CubeOperand<T>& source, int32_t key, int32_t keys,
                                        int32_t strip, int32_t strips, int32_t target = 0) {
        const int32_t key_fractals = CeilDiv(keys, kFractal);
        const AscendC::LocalTensor<T> right = Right(l0)[target * key_fractals * kFractalElements];
        AscendC::LoadData2DParams params;
        params.srcStride = 1;
        if (key_fractals == source.fractals) {
            params.repeatTimes = uint8_t(strips * key_fractals);
            AscendC::LoadData(right, source.data[strip * key_fractals * kFractalElements], params);
            return;
        }
        params.repeatTimes = uint8_t(key_fractals);
        for (int32_t i = 0; i < strips; ++i) {
            AscendC::LoadData(right[i * key_fractals * kFractalElements],
                              source.data[((strip + i) * source.fractals + key / kFractal) * kFractalElements], params);
        }
    }

    // L1 -> L0B for V: each 16 x 16 fractal is transposed on the way, one instruction per 16 keys.
    __aicore__ inline void LoadValueRight(int32_t l0, const CubeOperand<T>& source, int32_t key, int32_t keys,
                                          int32_t columns) {
        const int32_t column_fractals = columns / kFractal;
        AscendC::LoadData2DParams params;
        params.repeatTimes = uint8_t(column_fractals);
        params.srcStride = uint16_t(source.fractals);
        params.ifTranspose = true;
        for (int32_t i = 0; i < CeilDiv(keys, kFractal); ++i) {
            AscendC::LoadData(Right(l0)[i * column_fractals * kFractalElements],
                              source.data[(key / kFractal + i) * kFractalElements], params);
        }
    }

    __aicore__ inline int32_t NextL0() {
        const int32_t buffer = l0_turn_;
        l0_turn_ = (l0_turn_ + 1) % kL0Buffers;
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + buffer);
        return buffer;
    }

    // The buffer that was taken `count` turns ago.
    __aicore__ inline int32_t L0Before(int32_t count) const { return (l0_turn_ + kL0Buffers - count) % kL0Buffers; }

    __aicore__ inline int32_t NextProduct() {
        const int32_t buffer = product_turn_;
        product_turn_ = (product_turn_ + 1) % kAccumulatorBuffers;
        return buffer;
    }

    __aicore__ inline void Multiply(int32_t product, int32_t l0, int32_t rows, int32_t columns, int32_t depth,
                                    bool overwrite, bool last) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(CubeEvent::kL0 + l0);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(CubeEvent::kL0 + l0);
        AscendC::MmadParams params;
        params.m = uint16_t(Max(rows, kLeftRowsMin));
        params.n = uint16_t(columns);
        params.k = uint16_t(depth);
        params.cmatrixInitVal = overwrite;
        params.unitFlag = last ? kUnitsHandedOver : kUnitsKept;
        // The unit keeps the order of dependent accumulations only from ten output fractals on.
        if (!overwrite && (rows / kFractal) * (columns / kFractal) < 10) {
            AscendC::PipeBarrier<PIPE_M>();
        }
        AscendC::Mmad(Product(product), Left(l0), Right(l0), params);
        AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + l0);
    }

    // L0C -> global memory, row-major with `pitch` floats a row. Fixpipe wants whole fractals of columns; the slots are
    // wide enough and nobody reads the columns past `columns`.
    __aicore__ inline void StoreProduct(int32_t product, const AscendC::GlobalTensor<float>& target, int32_t rows,
                                        int32_t columns, int32_t pitch) {
        AscendC::FixpipeParamsV220 params;
        params.nSize = uint16_t(RoundUp(columns, kFractal));
        params.mSize = uint16_t(rows);
        params.srcStride = uint16_t(RoundUp(rows, kFractal));
        params.dstStride = uint32_t(pitch);
        params.unitFlag = kUnitsHandedOver;
        AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(target, Product(product), params);
    }

private:
    __aicore__ inline AscendC::LocalTensor<T> Left(int32_t buffer) {
        return l0a_.template Get<T>()[sizeof(L0AMemory::left[0]) / sizeof(T) * buffer];
    }
    __aicore__ inline AscendC::LocalTensor<T> Right(int32_t buffer) {
        return l0b_.template Get<T>()[sizeof(L0BMemory::right[0]) / sizeof(T) * buffer];
    }
    __aicore__ inline AscendC::LocalTensor<float> Product(int32_t buffer) {
        return l0c_.template Get<float>()[sizeof(L0CMemory::product[0]) / sizeof(float) * buffer];
    }

    static constexpr uint8_t kUnitsKept = 2;
    static constexpr uint8_t kUnitsHandedOver = 3;

    AscendC::TBuf<AscendC::TPosition::A2> l0a_;
    AscendC::TBuf<AscendC::TPosition::B2> l0b_;
    AscendC::TBuf<AscendC::TPosition::CO1> l0c_;
    int32_t l0_turn_ = 0;
    int32_t product_turn_ = 0;
};

}  // namespace ascend_attention
