// SPDX-License-Identifier: Apache-2.0
// What the cube core does for a step: S = Q K^T and O_partial = P V, both in float32, both written to the step's slot
// in global memory. Every product is cut into 128 x 128 x 128 pieces; chunks of K, V and P share one ring of L1
// buffers.
#pragma once

#include "engine/memory.h"
#include "engine/tile_walk.h"
#include "parts/operand_copy.h"

namespace ascend_attention {

template <typename T>
class CubeStages {
public:
    __aicore__ inline CubeStages(AscendC::TPipe& pipe, const PlanReader& reader, const KernelArguments& arguments,
                                 uint32_t core)
        : plan_(reader.Plan()) {
        pipe.InitBuffer(l1_, sizeof(L1Memory));
        pipe.InitBuffer(l0a_, sizeof(L0AMemory));
        pipe.InitBuffer(l0b_, sizeof(L0BMemory));
        pipe.InitBuffer(l0c_, sizeof(L0CMemory));
        query_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.query));
        key_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.key));
        value_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.value));
        GM_ADDR rings = arguments.workspace + uint64_t(core) * plan_.workspace_core_stride;
        scores_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace, scores)));
        probs_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rings + offsetof(CoreWorkspace, probs)));
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace, partial)));
        FreeAllBuffers();
    }

    // Set and wait must pair: take back the "free" events that FreeAllBuffers gave.
    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < kOperandBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kOperand + i);
        }
        for (int32_t i = 0; i < kL0Buffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + i);
        }
        for (int32_t i = 0; i < kAccumulatorBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(CubeEvent::kAccumulator + i);
        }
    }

    // S = Q K^T of one step; tells the vector cores.
    __aicore__ inline void Scores(const TileStep& step) {
        const int32_t query_buffer = step.task % kQueryBuffers;
        if (step.first) {
            LoadQuery(step, query_buffer);
        }
        for (int32_t begin = 0; begin < step.keys; begin += kCubeStep) {
            ScoreChunk(step, query_buffer, begin, Min(step.keys - begin, kCubeStep));
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_FIX>(CrossCoreFlag::kVectorWaitsForScores);
    }

    // O_partial = P V of one step, after the vector cores have written P; tells the vector cores.
    __aicore__ inline void Partial(const TileStep& step) {
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kCubeWaitsForProbs);
        const int32_t channels = int32_t(plan_.value_head_dim);
        for (int32_t begin = 0; begin < channels; begin += kCubeStep) {
            PartialColumns(step, begin, Min(channels - begin, kCubeStep));
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_FIX>(CrossCoreFlag::kVectorWaitsForPartial);
    }

private:
    __aicore__ inline void FreeAllBuffers() {
        for (int32_t i = 0; i < kOperandBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kOperand + i);
        }
        for (int32_t i = 0; i < kL0Buffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + i);
        }
        for (int32_t i = 0; i < kAccumulatorBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::FIX_M>(CubeEvent::kAccumulator + i);
        }
    }

    __aicore__ inline AscendC::LocalTensor<T> Query(int32_t buffer) {
        return l1_.template Get<T>()[(offsetof(L1Memory, query) + sizeof(L1Memory::query[0]) * buffer) / sizeof(T)];
    }
    __aicore__ inline AscendC::LocalTensor<T> Operand(int32_t buffer) {
        return l1_.template Get<T>()[(offsetof(L1Memory, operand) + sizeof(L1Memory::operand[0]) * buffer) / sizeof(T)];
    }
    __aicore__ inline AscendC::LocalTensor<T> Left(int32_t buffer) {
        return l0a_.template Get<T>()[sizeof(L0AMemory::left[0]) / sizeof(T) * buffer];
    }
    __aicore__ inline AscendC::LocalTensor<T> Right(int32_t buffer) {
        return l0b_.template Get<T>()[sizeof(L0BMemory::right[0]) / sizeof(T) * buffer];
    }
    __aicore__ inline AscendC::LocalTensor<float> Product(int32_t buffer) {
        return l0c_.template Get<float>()[sizeof(L0CMemory::product[0]) / sizeof(float) * buffer];
    }

    __aicore__ inline int32_t NextOperand() {
        const int32_t buffer = operand_turn_;
        operand_turn_ = (operand_turn_ + 1) % kOperandBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kOperand + buffer);
        return buffer;
    }

    // The buffer is free: it held the task before the last one, whose P this core has waited for, and its vector cores
    // computed that from finished scores.
    __aicore__ inline void LoadQuery(const TileStep& step, int32_t buffer) {
        const RowMap map(plan_, step.sequence, plan_.query, step.sequence.query, step.head);
        const int32_t tile_rows = RoundUp(step.rows, kFractal);
        for (int32_t row = 0; row < step.rows;) {
            const RowRun run = map.RunAt(step.row_begin + row, step.rows - row);
            CopyLeftRunToNz(Query(buffer), tile_rows, step.rows, row, query_, run, int32_t(plan_.head_dim));
            row += run.count;
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kQuery + buffer);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kQuery + buffer);
    }

    // Rows of K or V, `columns` channels from `channel`, into an operand buffer.
    __aicore__ inline void LoadKeyRows(int32_t buffer, const AscendC::GlobalTensor<T>& source,
                                       const HeadStrides& strides, int64_t sequence_offset, const TileStep& step,
                                       int32_t key, int32_t keys, int32_t channel, int32_t columns) {
        const RowRun run{sequence_offset + int64_t(step.key_head) * strides.head +
                             int64_t(step.key_begin + key) * strides.row + channel,
                         strides.row, keys};
        CopyRunToNz(Operand(buffer), RoundUp(keys, kFractal), 0, source, run, columns);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kOperand + buffer);
    }

    // L1 -> L0A: NZ strips to ZZ, one instruction per 16 rows. `strip` is the first 16-column strip.
    __aicore__ inline void LoadLeft(int32_t l0, const AscendC::LocalTensor<T>& source, int32_t rows, int32_t strip,
                                    int32_t columns) {
        const int32_t row_fractals = CeilDiv(rows, kFractal);
        const int32_t column_fractals = CeilDiv(columns, kFractal);
        AscendC::LoadData2DParams params;
        params.repeatTimes = uint8_t(column_fractals);
        params.srcStride = uint16_t(row_fractals);
        for (int32_t i = 0; i < row_fractals; ++i) {
            AscendC::LoadData(Left(l0)[i * column_fractals * kFractalElements],
                              source[(strip * row_fractals + i) * kFractalElements], params);
        }
    }

    // One 128-key chunk of S, accumulated over the channels in steps of 128.
    __aicore__ inline void ScoreChunk(const TileStep& step, int32_t query_buffer, int32_t key, int32_t keys) {
        const int32_t product = NextProduct();
        const int32_t channels = int32_t(plan_.head_dim);
        for (int32_t channel = 0; channel < channels; channel += kCubeStep) {
            const int32_t depth = Min(channels - channel, kCubeStep);
            const int32_t operand = NextOperand();
            LoadKeyRows(operand, key_, plan_.key, step.sequence.key, step, key, keys, channel, depth);

            const int32_t l0 = NextL0();
            LoadLeft(l0, Query(query_buffer), step.rows, channel / kFractal, depth);
            AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kOperand + operand);
            // K in NZ is K^T in the ZN form of L0B: fractals in the same order, none transposed.
            AscendC::LoadData2DParams params;
            params.repeatTimes = uint8_t((depth / kFractal) * CeilDiv(keys, kFractal));
            params.srcStride = 1;
            AscendC::LoadData(Right(l0), Operand(operand), params);
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kOperand + operand);
            Multiply(product, l0, step.rows, keys, depth, channel == 0);
        }
        const int64_t slot = int64_t(step.step % kRingSlots) * (kScoreSlotBytes / sizeof(float));
        StoreProduct(product, scores_[slot + key], step.rows, keys, int32_t(plan_.tile_keys));
    }

    // `columns` channels of O_partial from `channel`, accumulated over the keys in steps of 128.
    __aicore__ inline void PartialColumns(const TileStep& step, int32_t channel, int32_t columns) {
        const int32_t product = NextProduct();
        const int64_t prob_slot = int64_t(step.step % kRingSlots) * (kProbSlotBytes / sizeof(T));
        for (int32_t key = 0; key < step.keys; key += kCubeStep) {
            const int32_t keys = Min(step.keys - key, kCubeStep);
            const int32_t probs = NextOperand();
            const RowRun run{prob_slot + key, int64_t(plan_.tile_keys), step.rows};
            CopyLeftRunToNz(Operand(probs), RoundUp(step.rows, kFractal), step.rows, 0, probs_, run, keys);
            AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kOperand + probs);
            const int32_t value = NextOperand();
            LoadKeyRows(value, value_, plan_.value, step.sequence.value, step, key, keys, channel, columns);

            const int32_t l0 = NextL0();
            AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kOperand + probs);
            LoadLeft(l0, Operand(probs), step.rows, 0, keys);
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kOperand + probs);
            AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kOperand + value);
            LoadValueRight(l0, Operand(value), keys, columns);
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kOperand + value);
            Multiply(product, l0, step.rows, columns, keys, key == 0);
        }
        const int64_t slot = int64_t(step.step % kRingSlots) * (kPartialSlotBytes / sizeof(float));
        StoreProduct(product, partial_[slot + channel], step.rows, columns, kHeadDimMax);
    }

    // L1 -> L0B for V: each 16 x 16 fractal is transposed on the way, one instruction per 16 keys.
    __aicore__ inline void LoadValueRight(int32_t l0, const AscendC::LocalTensor<T>& source, int32_t keys,
                                          int32_t columns) {
        const int32_t key_fractals = CeilDiv(keys, kFractal);
        const int32_t column_fractals = columns / kFractal;
        AscendC::LoadData2DParams params;
        params.repeatTimes = uint8_t(column_fractals);
        params.srcStride = uint16_t(key_fractals);
        params.ifTranspose = true;
        for (int32_t i = 0; i < key_fractals; ++i) {
            AscendC::LoadData(Right(l0)[i * column_fractals * kFractalElements], source[i * kFractalElements], params);
        }
    }

    __aicore__ inline int32_t NextL0() {
        const int32_t buffer = l0_turn_;
        l0_turn_ = (l0_turn_ + 1) % kL0Buffers;
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(CubeEvent::kL0 + buffer);
        return buffer;
    }

    __aicore__ inline int32_t NextProduct() {
        const int32_t buffer = product_turn_;
        product_turn_ = (product_turn_ + 1) % kAccumulatorBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(CubeEvent::kAccumulator + buffer);
        return buffer;
    }

    __aicore__ inline void Multiply(int32_t product, int32_t l0, int32_t rows, int32_t columns, int32_t depth,
                                    bool overwrite) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(CubeEvent::kL0 + l0);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(CubeEvent::kL0 + l0);
        AscendC::MmadParams params;
        params.m = uint16_t(Max(rows, kLeftRowsMin));
        params.n = uint16_t(columns);
        params.k = uint16_t(depth);
        params.cmatrixInitVal = overwrite;
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
        AscendC::SetFlag<AscendC::HardEvent::M_FIX>(CubeEvent::kAccumulator + product);
        AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(CubeEvent::kAccumulator + product);
        AscendC::FixpipeParamsV220 params;
        params.nSize = uint16_t(RoundUp(columns, kFractal));
        params.mSize = uint16_t(rows);
        params.srcStride = uint16_t(RoundUp(rows, kFractal));
        params.dstStride = uint32_t(pitch);
        AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(target, Product(product), params);
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(CubeEvent::kAccumulator + product);
    }

    const AttentionPlan& plan_;
    AscendC::TBuf<AscendC::TPosition::A1> l1_;
    AscendC::TBuf<AscendC::TPosition::A2> l0a_;
    AscendC::TBuf<AscendC::TPosition::B2> l0b_;
    AscendC::TBuf<AscendC::TPosition::CO1> l0c_;
    AscendC::GlobalTensor<T> query_;
    AscendC::GlobalTensor<T> key_;
    AscendC::GlobalTensor<T> value_;
    AscendC::GlobalTensor<float> scores_;
    AscendC::GlobalTensor<T> probs_;
    AscendC::GlobalTensor<float> partial_;
    int32_t operand_turn_ = 0;
    int32_t l0_turn_ = 0;
    int32_t product_turn_ = 0;
};

}  // namespace ascend_attention
