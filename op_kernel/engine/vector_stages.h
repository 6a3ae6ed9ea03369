// SPDX-License-Identifier: Apache-2.0
// What a vector core does for a step: online softmax over its half of the tile's rows, and the running output. Rows are
// worked on in chunks of about 4096 scores. Masked scores are -inf and the running maximum starts at the lowest finite
// float, so rows that see no key need no case of their own: their sum stays 0.
#pragma once

#include "engine/memory.h"
#include "engine/tile_walk.h"
#include "parts/explicit_mask.h"
#include "parts/row_reduce.h"
#include "parts/row_store.h"

namespace ascend_attention {

template <typename T>
class VectorStages {
public:
    __aicore__ inline VectorStages(AscendC::TPipe& pipe, const PlanReader& reader, const KernelArguments& arguments,
                                   uint32_t core, uint32_t sub_core)
        : plan_(reader.Plan()), sub_core_(sub_core) {
        pipe.InitBuffer(ub_, sizeof(UbMemory));
        mask_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(arguments.atten_mask));
        output_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.attention_out));
        lse_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(arguments.softmax_lse));
        GM_ADDR rings = arguments.workspace + uint64_t(core) * plan_.workspace_core_stride;
        scores_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace, scores)));
        probs_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rings + offsetof(CoreWorkspace, probs)));
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace, partial)));
        channels_ = int32_t(plan_.value_head_dim);
        output_pitch_ = RoundUp(channels_, kFloatsPerRepeat);
        output_chunk_rows_ = ChunkRows(output_pitch_);
        // Brcb reads eight rows at a time: lanes past the last row must hold something.
        AscendC::Duplicate(Float(offsetof(UbMemory, row_max)), FloatFromBits(kLowestFloatBits), kVectorRows);
        AscendC::Duplicate(Float(offsetof(UbMemory, row_sum)), 0.0F, kVectorRows);
        FreeAllBuffers();
    }

    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < kScoreBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kScores + i);
        }
        for (int32_t i = 0; i < kPartialBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kPartial + i);
        }
        for (int32_t i = 0; i < kStoreBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + i);
        }
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
    }

    // P = exp(S - running maximum), rounded to T, for the cube core; updates maximum and sum.
    __aicore__ inline void Softmax(const TileStep& step) {
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorWaitsForScores);
        const Rows rows = MyRows(step);
        if (step.first && rows.count > 0) {
            AscendC::Duplicate(RunningMax(step), FloatFromBits(kLowestFloatBits), kVectorRows);
            AscendC::Duplicate(RunningSum(step), 0.0F, kVectorRows);
        }
        const int32_t pitch = RoundUp(step.keys, kFloatsPerRepeat);
        const int32_t chunk_rows = ChunkRows(pitch);
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows) {
            SoftmaxChunk(step, rows, begin, Min(rows.count - begin, chunk_rows), pitch);
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_MTE3>(CrossCoreFlag::kCubeWaitsForProbs);
    }

    // O = O * correction + P V; after the last step of a task the rows are normalised and written.
    __aicore__ inline void Update(const TileStep& step) {
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorWaitsForPartial);
        const Rows rows = MyRows(step);
        if (rows.count == 0) {
            return;
        }
        if (step.first) {
            AscendC::Duplicate(Accumulator(), 0.0F, rows.count * output_pitch_);
        }
        for (int32_t begin = 0; begin < rows.count; begin += output_chunk_rows_) {
            UpdateChunk(step, rows, begin, Min(rows.count - begin, output_chunk_rows_));
        }
        if (step.last) {
            Write(step, rows);
        }
    }

    // A task that sees no key: zeros, LSE +inf.
    __aicore__ inline void WriteEmpty(const TileStep& step) {
        const Rows rows = MyRows(step);
        const RowMap map(plan_, step.sequence, plan_.output, step.sequence.output, step.head);
        for (int32_t begin = 0; begin < rows.count; begin += output_chunk_rows_) {
            const int32_t count = Min(rows.count - begin, output_chunk_rows_);
            const int32_t buffer = NextStore();
            AscendC::Duplicate(Store(buffer).template ReinterpretCast<int16_t>(), int16_t(0), count * output_pitch_);
            StoreOutput(buffer, map, rows.first + begin, count);
        }
        if (plan_.writes_lse != 0 && rows.count > 0) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
            AscendC::Duplicate(Float(offsetof(UbMemory, lse)), FloatFromBits(kPlusInfinityBits), kVectorRows);
            StoreLse(step, rows);
        }
    }

private:
    struct Rows {
        int32_t first;   // row of the head
        int32_t offset;  // row of the tile
        int32_t count;
    };

    __aicore__ inline void FreeAllBuffers() {
        for (int32_t i = 0; i < kScoreBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kScores + i);
        }
        for (int32_t i = 0; i < kPartialBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kPartial + i);
        }
        for (int32_t i = 0; i < kStoreBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + i);
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
    }

    __aicore__ inline AscendC::LocalTensor<float> Float(uint32_t byte_offset) {
        return ub_.template Get<float>()[byte_offset / sizeof(float)];
    }
    __aicore__ inline AscendC::LocalTensor<float> Accumulator() { return Float(offsetof(UbMemory, accumulator)); }
    __aicore__ inline AscendC::LocalTensor<float> Scratch() { return Float(offsetof(UbMemory, scratch)); }
    __aicore__ inline AscendC::LocalTensor<float> Broadcast() { return Float(offsetof(UbMemory, broadcast)); }
    __aicore__ inline AscendC::LocalTensor<float> RunningMax(const TileStep& step) {
        return Float(offsetof(UbMemory, running_max) + sizeof(UbMemory::running_max[0]) * (step.task % 2));
    }
    __aicore__ inline AscendC::LocalTensor<float> RunningSum(const TileStep& step) {
        return Float(offsetof(UbMemory, running_sum) + sizeof(UbMemory::running_sum[0]) * (step.task % 2));
    }
    __aicore__ inline AscendC::LocalTensor<float> Correction(const TileStep& step) {
        return Float(offsetof(UbMemory, correction) + sizeof(UbMemory::correction[0]) * (step.step % 2));
    }
    __aicore__ inline AscendC::LocalTensor<T> Store(int32_t buffer) {
        return ub_.template Get<T>()[(offsetof(UbMemory, store) + sizeof(UbMemory::store[0]) * buffer) / sizeof(T)];
    }
    __aicore__ inline AscendC::LocalTensor<uint8_t> Bytes(uint32_t byte_offset) {
        return ub_.template Get<uint8_t>()[byte_offset];
    }

    // The two vector cores take the upper and the lower half of a tile's rows, in whole groups of eight.
    __aicore__ inline Rows MyRows(const TileStep& step) const {
        const int32_t upper = Min(step.rows, RoundUp(CeilDiv(step.rows, 2), kFloatsPerBlock));
        Rows rows;
        rows.offset = sub_core_ == 0 ? 0 : upper;
        rows.count = sub_core_ == 0 ? upper : step.rows - upper;
        rows.first = step.row_begin + rows.offset;
        return rows;
    }

    // Rows of `pitch` elements that fit a chunk, in whole groups of eight.
    __aicore__ inline static int32_t ChunkRows(int32_t pitch) {
        return Min(kVectorRows, kChunkElements / pitch / kFloatsPerBlock * kFloatsPerBlock);
    }

    __aicore__ inline int32_t NextStore() {
        const int32_t buffer = store_turn_;
        store_turn_ = (store_turn_ + 1) % kStoreBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + buffer);
        return buffer;
    }

    __aicore__ inline void SoftmaxChunk(const TileStep& step, const Rows& rows, int32_t begin, int32_t count,
                                        int32_t pitch) {
        const int32_t buffer = score_turn_;
        score_turn_ = (score_turn_ + 1) % kScoreBuffers;
        const AscendC::LocalTensor<float> scores =
            Float(offsetof(UbMemory, scores) + sizeof(UbMemory::scores[0]) * buffer);
        LoadScores(step, rows, begin, count, pitch, buffer, scores);
        ScaleAndMask(step, rows.first + begin, count, pitch, buffer, scores);
        UpdateMaximum(step, begin, count, pitch, scores);
        ApplyToRows<RowOperation::kSub>(scores, Broadcast(), count, pitch, pitch);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(scores, scores, count * pitch);
        AscendC::PipeBarrier<PIPE_V>();
        StoreProbs(step, rows.offset + begin, count, pitch, scores);
        UpdateSum(step, begin, count, pitch, scores);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kScores + buffer);
    }

    __aicore__ inline void LoadScores(const TileStep& step, const Rows& rows, int32_t begin, int32_t count,
                                      int32_t pitch, int32_t buffer, const AscendC::LocalTensor<float>& scores) {
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kScores + buffer);
        const int32_t columns = RoundUp(step.keys, kFloatsPerBlock);
        const int32_t slot_pitch = int32_t(plan_.tile_keys);
        const int64_t slot = int64_t(step.step % kRingSlots) * (kScoreSlotBytes / sizeof(float));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(columns / kFloatsPerBlock),
                                             uint16_t((slot_pitch - columns) / kFloatsPerBlock),
                                             uint16_t((pitch - columns) / kFloatsPerBlock));
        AscendC::DataCopy(scores, scores_[slot + int64_t(rows.offset + begin) * slot_pitch], params);
        if (plan_.has_mask != 0) {
            LoadMaskRows(Bytes(offsetof(UbMemory, mask) + sizeof(UbMemory::mask[0]) * buffer), pitch, mask_, plan_,
                         step.sequence, rows.first + begin, count, step.key_begin, step.keys);
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(VectorEvent::kScores + buffer);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(VectorEvent::kScores + buffer);
    }

    __aicore__ inline void ScaleAndMask(const TileStep& step, int32_t row, int32_t count, int32_t pitch, int32_t buffer,
                                        const AscendC::LocalTensor<float>& scores) {
        const bool tail = step.keys < pitch;
        if (tail) {  // columns that no key stands behind: anything finite, so that scaling them is harmless
            FillColumns(scores, count, pitch, step.keys, pitch, 0.0F);
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::Muls(scores, scores, plan_.scale, count * pitch);
        AscendC::PipeBarrier<PIPE_V>();
        if (plan_.has_mask != 0) {
            ApplyMaskRows(scores, Bytes(offsetof(UbMemory, mask) + sizeof(UbMemory::mask[0]) * buffer),
                          Scratch().template ReinterpretCast<half>(), Bytes(offsetof(UbMemory, mask_bits)), count,
                          pitch, step.keys);
        }
        if (tail) {
            FillColumns(scores, count, pitch, step.keys, pitch, FloatFromBits(kMinusInfinityBits));
            AscendC::PipeBarrier<PIPE_V>();
        }
        HideOutsideBand(step, row, count, pitch, scores);
    }

    __aicore__ inline void HideOutsideBand(const TileStep& step, int32_t row, int32_t count, int32_t pitch,
                                           const AscendC::LocalTensor<float>& scores) {
        const PositionSpan positions = PositionsOfRows(step.sequence, plan_.group_fold, plan_.row_order, row, count);
        const float hidden = FloatFromBits(kMinusInfinityBits);
        if (ColumnsOfPosition(step.sequence, positions.last, step.key_begin, step.keys).begin > 0) {
            for (int32_t i = 0; i < count; ++i) {
                const int32_t position = RowPosition(plan_, step.sequence, row + i);
                FillColumns(scores[i * pitch], 1, pitch, 0,
                            ColumnsOfPosition(step.sequence, position, step.key_begin, step.keys).begin, hidden);
            }
            AscendC::PipeBarrier<PIPE_V>();
        }
        if (ColumnsOfPosition(step.sequence, positions.first, step.key_begin, step.keys).end < step.keys) {
            for (int32_t i = 0; i < count; ++i) {
                const int32_t position = RowPosition(plan_, step.sequence, row + i);
                FillColumns(scores[i * pitch], 1, pitch,
                            ColumnsOfPosition(step.sequence, position, step.key_begin, step.keys).end, step.keys,
                            hidden);
            }
            AscendC::PipeBarrier<PIPE_V>();
        }
    }

    // Leaves the new maximum of each row in broadcast blocks and exp(old - new) in the step's correction.
    __aicore__ inline void UpdateMaximum(const TileStep& step, int32_t begin, int32_t count, int32_t pitch,
                                         const AscendC::LocalTensor<float>& scores) {
        const int32_t lanes = RoundUp(count, kFloatsPerBlock);
        const AscendC::LocalTensor<float> row_max = Float(offsetof(UbMemory, row_max))[begin];
        const AscendC::LocalTensor<float> new_max = Float(offsetof(UbMemory, new_max))[begin];
        const AscendC::LocalTensor<float> running_max = RunningMax(step)[begin];
        const AscendC::LocalTensor<float> correction = Correction(step)[begin];
        ReduceRows<RowReduction::kMax>(row_max, scores, Scratch(), count, pitch);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Max(new_max, running_max, row_max, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(correction, running_max, new_max, lanes);
        BroadcastRows(Broadcast(), new_max, count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(correction, correction, lanes);
        AscendC::Max(running_max, running_max, row_max, lanes);
    }

    __aicore__ inline void UpdateSum(const TileStep& step, int32_t begin, int32_t count, int32_t pitch,
                                     const AscendC::LocalTensor<float>& scores) {
        const int32_t lanes = RoundUp(count, kFloatsPerBlock);
        const AscendC::LocalTensor<float> row_sum = Float(offsetof(UbMemory, row_sum))[begin];
        const AscendC::LocalTensor<float> running_sum = RunningSum(step)[begin];
        ReduceRows<RowReduction::kSum>(row_sum, scores, Scratch(), count, pitch);
        AscendC::Mul(running_sum, running_sum, Correction(step)[begin], lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(running_sum, running_sum, row_sum, lanes);
    }

    __aicore__ inline void StoreProbs(const TileStep& step, int32_t tile_row, int32_t count, int32_t pitch,
                                      const AscendC::LocalTensor<float>& scores) {
        const int32_t buffer = NextStore();
        AscendC::Cast(Store(buffer), scores, AscendC::RoundMode::CAST_RINT, count * pitch);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);
        const int32_t columns = RoundUp(step.keys, kHalfsPerBlock);
        const int32_t slot_pitch = int32_t(plan_.tile_keys);
        const int64_t slot = int64_t(step.step % kRingSlots) * (kProbSlotBytes / sizeof(T));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(columns / kHalfsPerBlock),
                                             uint16_t((pitch - columns) / kHalfsPerBlock),
                                             uint16_t((slot_pitch - columns) / kHalfsPerBlock));
        AscendC::DataCopy(probs_[slot + int64_t(tile_row) * slot_pitch], Store(buffer), params);
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + buffer);
    }

    __aicore__ inline void UpdateChunk(const TileStep& step, const Rows& rows, int32_t begin, int32_t count) {
        const int32_t buffer = partial_turn_;
        partial_turn_ = (partial_turn_ + 1) % kPartialBuffers;
        const AscendC::LocalTensor<float> partial =
            Float(offsetof(UbMemory, partial) + sizeof(UbMemory::partial[0]) * buffer);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kPartial + buffer);
        const int64_t slot = int64_t(step.step % kRingSlots) * (kPartialSlotBytes / sizeof(float));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(channels_ / kFloatsPerBlock),
                                             uint16_t((kHeadDimMax - channels_) / kFloatsPerBlock),
                                             uint16_t((output_pitch_ - channels_) / kFloatsPerBlock));
        AscendC::DataCopy(partial, partial_[slot + int64_t(rows.offset + begin) * kHeadDimMax], params);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(VectorEvent::kPartial + buffer);

        const AscendC::LocalTensor<float> accumulator = Accumulator()[begin * output_pitch_];
        BroadcastRows(Broadcast(), Correction(step)[begin], count);
        AscendC::PipeBarrier<PIPE_V>();
        ApplyToRows<RowOperation::kMul>(accumulator, Broadcast(), count, channels_, output_pitch_);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(VectorEvent::kPartial + buffer);
        const uint8_t row_blocks = uint8_t(output_pitch_ / kFloatsPerBlock);
        const AscendC::BinaryRepeatParams add(1, 1, 1, row_blocks, row_blocks, row_blocks);
        for (int32_t group = 0; group < channels_; group += kFloatsPerRepeat) {
            AscendC::Add(accumulator[group], accumulator[group], partial[group],
                         uint64_t(Min(channels_ - group, kFloatsPerRepeat)), uint8_t(count), add);
        }
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kPartial + buffer);
    }

    // Normalises, rounds to T and writes the finished rows. The sum of a row that sees a key is at least about 1 (its
    // largest score contributes exp(0)), so the floor only turns 0 / 0 of the other rows into 0.
    __aicore__ inline void Write(const TileStep& step, const Rows& rows) {
        const AscendC::LocalTensor<float> floored_sum = Float(offsetof(UbMemory, new_max));
        AscendC::Maxs(floored_sum, RunningSum(step), kSumFloor, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        const RowMap map(plan_, step.sequence, plan_.output, step.sequence.output, step.head);
        const uint8_t row_blocks = uint8_t(output_pitch_ / kFloatsPerBlock);
        const AscendC::UnaryRepeatParams narrow(1, 1, uint8_t(output_pitch_ / kHalfsPerBlock), row_blocks);
        for (int32_t begin = 0; begin < rows.count; begin += output_chunk_rows_) {
            const int32_t count = Min(rows.count - begin, output_chunk_rows_);
            const AscendC::LocalTensor<float> accumulator = Accumulator()[begin * output_pitch_];
            BroadcastRows(Broadcast(), floored_sum[begin], count);
            AscendC::PipeBarrier<PIPE_V>();
            ApplyToRows<RowOperation::kDiv>(accumulator, Broadcast(), count, channels_, output_pitch_);
            AscendC::PipeBarrier<PIPE_V>();
            const int32_t buffer = NextStore();
            for (int32_t group = 0; group < channels_; group += kFloatsPerRepeat) {
                AscendC::Cast(Store(buffer)[group], accumulator[group], AscendC::RoundMode::CAST_RINT,
                              uint64_t(Min(channels_ - group, kFloatsPerRepeat)), uint8_t(count), narrow);
            }
            StoreOutput(buffer, map, rows.first + begin, count);
        }
        if (plan_.writes_lse != 0) {
            WriteLse(step, rows);
        }
    }

    __aicore__ inline void StoreOutput(int32_t buffer, const RowMap& map, int32_t row, int32_t count) {
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);
        StoreRows(output_, map, row, count, Store(buffer), output_pitch_, channels_);
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + buffer);
    }

    // LSE = ln(sum) + maximum, +inf where the sum is 0.
    __aicore__ inline void WriteLse(const TileStep& step, const Rows& rows) {
        const AscendC::LocalTensor<float> lse = Float(offsetof(UbMemory, lse));
        const AscendC::LocalTensor<uint8_t> seen = Bytes(offsetof(UbMemory, mask_bits));
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
        AscendC::Ln(lse, RunningSum(step), kVectorRows);
        AscendC::CompareScalar(seen, RunningSum(step), 0.0F, AscendC::CMPMODE::NE, uint64_t(kFloatsPerRepeat), 1,
                               AscendC::UnaryRepeatParams(1, 1, 8, 8));
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(lse, lse, RunningMax(step), kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Select(lse, seen, lse, FloatFromBits(kPlusInfinityBits), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
                        uint64_t(kFloatsPerRepeat), 1, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
        StoreLse(step, rows);
    }

    // Takes over the kLse buffer from V to MTE3 and back.
    __aicore__ inline void StoreLse(const TileStep& step, const Rows& rows) {
        const AscendC::LocalTensor<float> blocks = Float(offsetof(UbMemory, lse_blocks));
        AscendC::PipeBarrier<PIPE_V>();
        BroadcastRows(blocks, Float(offsetof(UbMemory, lse)), rows.count);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kLse);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kLse);
        const RowMap map(plan_, step.sequence, plan_.lse, step.sequence.lse, step.head);
        StoreRowValues(lse_, map, rows.first, rows.count, blocks);
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kLse);
    }

    static constexpr float kSumFloor = 1.0e-30F;

    const AttentionPlan& plan_;
    uint32_t sub_core_;
    int32_t channels_;
    int32_t output_pitch_;  // floats of an output row in UB
    int32_t output_chunk_rows_;
    int32_t score_turn_ = 0;
    int32_t partial_turn_ = 0;
    int32_t store_turn_ = 0;
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub_;
    AscendC::GlobalTensor<uint8_t> mask_;
    AscendC::GlobalTensor<T> output_;
    AscendC::GlobalTensor<float> lse_;
    AscendC::GlobalTensor<float> scores_;
    AscendC::GlobalTensor<T> probs_;
    AscendC::GlobalTensor<float> partial_;
};

}  // namespace ascend_attention
