// SPDX-License-Identifier: Apache-2.0
// The running output of a row tile, by a vector core over its half of the rows: rescaled and added to once a step,
// normalised and written after the last one.
#pragma once

#include "engine/vector_buffers.h"
#include "parts/band_mask.h"
#include "parts/row_reduce.h"
#include "parts/row_store.h"

namespace ascend_attention {

template <typename T, typename Heads>
class OutputStage {
public:
    __aicore__ inline OutputStage(VectorBuffers<T, Heads>& buffers, const AttentionPlan& plan,
                                  const KernelArguments& arguments, GM_ADDR rings)
        : buffers_(buffers), plan_(plan) {
        output_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.attention_out));
        lse_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(arguments.softmax_lse));
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace<Heads>, partial)));
        channels_ = int32_t(plan.value_head_dim);
        pitch_ = RoundUp(channels_, kFloatsPerRepeat);
        chunk_rows_ = ChunkRows(kChunkElements, pitch_);
    }

    // O = O * correction + P V; after the last step of a row tile its rows are normalised and written.
    __aicore__ inline void Run(const TileStep& step) {
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorWaitsForPartial);
        const VectorRows rows = buffers_.RowsOf(step);
        if (step.last && rows.count > 0) {
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Maxs(Float(offsetof(UbMemory<Heads>, floored_sum)), buffers_.RunningSum(step), kSumFloor,
                          kVectorRows);
        }
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows_) {
            Update(step, rows, begin, Min(rows.count - begin, chunk_rows_));
        }
        if (step.last && rows.count > 0) {
            Write(step, rows);
        }
    }

    // A row tile that sees no key: zeros, LSE +inf.
    __aicore__ inline void WriteEmpty(const TileStep& step) {
        const VectorRows rows = buffers_.RowsOf(step);
        const RowMap map(plan_, step.tile.sequence, plan_.output, step.tile.sequence.output, step.tile.head);
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows_) {
            const int32_t count = Min(rows.count - begin, chunk_rows_);
            const int32_t buffer = buffers_.FillStore();
            AscendC::Duplicate(buffers_.Store(buffer).template ReinterpretCast<int16_t>(), int16_t(0), count * pitch_);
            StoreOutput(buffer, map, rows.first + begin, count);
        }
        if (plan_.writes_lse != 0 && rows.count > 0) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
            AscendC::Duplicate(Float(offsetof(UbMemory<Heads>, lse)), FloatFromBits(kPlusInfinityBits), kVectorRows);
            StoreLse(step, rows);
        }
    }

private:
    __aicore__ inline AscendC::LocalTensor<float> Float(uint32_t byte_offset) { return buffers_.Float(byte_offset); }

    __aicore__ inline void Update(const TileStep& step, const VectorRows& rows, int32_t begin, int32_t count) {
        const int32_t slot_pitch = RoundUp(channels_, kCubeStep);
        const int64_t slot = int64_t(step.step % Heads::kRingSlots) * (Heads::kPartialSlotBytes / sizeof(float));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(channels_ / kFloatsPerBlock),
                                             uint16_t((slot_pitch - channels_) / kFloatsPerBlock),
                                             uint16_t((pitch_ - channels_) / kFloatsPerBlock));
        const int32_t filled = buffers_.FillChunk();
        AscendC::DataCopy(buffers_.Chunk(filled), partial_[slot + int64_t(rows.offset + begin) * slot_pitch], params);
        buffers_.ChunkIsFilled(filled);

        const AscendC::LocalTensor<float> accumulator = buffers_.Accumulator(step, pitch_)[begin * pitch_];
        if (!step.first) {
            BroadcastRows(buffers_.Broadcast(), buffers_.Correction(step)[begin], count);
            AscendC::PipeBarrier<PIPE_V>();
            ApplyToRows<RowOperation::kMul>(accumulator, buffers_.Broadcast(), count, channels_, pitch_);
            AscendC::PipeBarrier<PIPE_V>();
        }
        const int32_t buffer = buffers_.UseChunk();
        const AscendC::LocalTensor<float> partial = buffers_.Chunk(buffer);
        const uint8_t row_blocks = uint8_t(pitch_ / kFloatsPerBlock);
        for (int32_t group = 0; group < channels_; group += kFloatsPerRepeat) {
            const uint64_t lanes = uint64_t(Min(channels_ - group, kFloatsPerRepeat));
            if (step.first) {
                AscendC::Muls(accumulator[group], partial[group], 1.0F, lanes, uint8_t(count),
                              AscendC::UnaryRepeatParams(1, 1, row_blocks, row_blocks));
            } else {
                AscendC::Add(accumulator[group], accumulator[group], partial[group], lanes, uint8_t(count),
                             AscendC::BinaryRepeatParams(1, 1, 1, row_blocks, row_blocks, row_blocks));
            }
        }
        buffers_.ChunkIsUsed(buffer);
    }

    // Normalises, rounds to T and writes the finished rows. The sum of a row that sees a key is at least about 1 (its
    // largest score contributes exp(0)), so the floor only turns 0 / 0 of the other rows into 0.
    __aicore__ inline void Write(const TileStep& step, const VectorRows& rows) {
        const AscendC::LocalTensor<float> floored_sum = Float(offsetof(UbMemory<Heads>, floored_sum));
        AscendC::PipeBarrier<PIPE_V>();
        const RowMap map(plan_, step.tile.sequence, plan_.output, step.tile.sequence.output, step.tile.head);
        const uint8_t row_blocks = uint8_t(pitch_ / kFloatsPerBlock);
        const AscendC::UnaryRepeatParams narrow(1, 1, uint8_t(pitch_ / kHalfsPerBlock), row_blocks);
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows_) {
            const int32_t count = Min(rows.count - begin, chunk_rows_);
            const AscendC::LocalTensor<float> accumulator = buffers_.Accumulator(step, pitch_)[begin * pitch_];
            BroadcastRows(buffers_.Broadcast(), floored_sum[begin], count);
            AscendC::PipeBarrier<PIPE_V>();
            ApplyToRows<RowOperation::kDiv>(accumulator, buffers_.Broadcast(), count, channels_, pitch_);
            AscendC::PipeBarrier<PIPE_V>();
            const int32_t buffer = buffers_.FillStore();
            const AscendC::LocalTensor<T> result = buffers_.Store(buffer);
            for (int32_t group = 0; group < channels_; group += kFloatsPerRepeat) {
                AscendC::Cast(result[group], accumulator[group], AscendC::RoundMode::CAST_RINT,
                              uint64_t(Min(channels_ - group, kFloatsPerRepeat)), uint8_t(count), narrow);
            }
            StoreOutput(buffer, map, rows.first + begin, count);
        }
        if (plan_.writes_lse != 0) {
            WriteLse(step, rows);
        }
    }

    __aicore__ inline void StoreOutput(int32_t buffer, const RowMap& map, int32_t row, int32_t count) {
        buffers_.StoreIsFilled(buffer);
        StoreRows(output_, map, row, count, buffers_.Store(buffer), pitch_, channels_);
        buffers_.StoreIsWritten(buffer);
    }

    // LSE = ln(sum) + maximum, +inf where the sum is 0.
    __aicore__ inline void WriteLse(const TileStep& step, const VectorRows& rows) {
        const AscendC::LocalTensor<float> lse = Float(offsetof(UbMemory<Heads>, lse));
        const AscendC::LocalTensor<float> sum = buffers_.RunningSum(step);
        const AscendC::LocalTensor<uint8_t> seen = buffers_.Bytes(offsetof(UbMemory<Heads>, seen));
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
        AscendC::Ln(lse, sum, kVectorRows);
        AscendC::CompareScalar(seen, sum, 0.0F, AscendC::CMPMODE::NE, uint64_t(kFloatsPerRepeat), 1,
                               AscendC::UnaryRepeatParams(1, 1, 8, 8));
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(lse, lse, buffers_.RunningMax(step), kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Select(lse, seen, lse, FloatFromBits(kPlusInfinityBits), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
                        uint64_t(kFloatsPerRepeat), 1, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
        StoreLse(step, rows);
    }

    // Takes over the kLse buffer from V to MTE3 and back.
    __aicore__ inline void StoreLse(const TileStep& step, const VectorRows& rows) {
        const AscendC::LocalTensor<float> blocks = Float(offsetof(UbMemory<Heads>, lse_blocks));
        AscendC::PipeBarrier<PIPE_V>();
        BroadcastRows(blocks, Float(offsetof(UbMemory<Heads>, lse)), rows.count);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kLse);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kLse);
        const RowMap map(plan_, step.tile.sequence, plan_.lse, step.tile.sequence.lse, step.tile.head);
        StoreRowValues(lse_, map, rows.first, rows.count, blocks);
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
    }

    static constexpr float kSumFloor = 1.0e-30F;

    VectorBuffers<T, Heads>& buffers_;
    const AttentionPlan& plan_;
    int32_t channels_;
    int32_t pitch_;  // floats of an output row in UB
    int32_t chunk_rows_;
    AscendC::GlobalTensor<T> output_;
    AscendC::GlobalTensor<float> lse_;
    AscendC::GlobalTensor<float> partial_;
};

}  // namespace ascend_attention
