// SPDX-License-Identifier: Apache-2.0
// Online softmax of a step, by a vector core over its half of the rows: P = exp(S - running maximum). Masked scores are
// -inf and the running maximum starts at the lowest finite float, so rows that see no key need no case of their own:
// their sum stays 0.
#pragma once

#include "engine/combine_stage.h"
#include "parts/bias.h"
#include "parts/explicit_mask.h"
#include "parts/row_reduce.h"

namespace ascend_attention {

template <typename T, typename Heads>
class SoftmaxStage {
public:
    __aicore__ inline SoftmaxStage(VectorBuffers<T, Heads>& buffers, CombineStage<T, Heads>& combine,
                                   const AttentionPlan& plan, const KernelArguments& arguments, GM_ADDR rings)
        : buffers_(buffers), combine_(combine), plan_(plan) {
        chunk_elements_ = plan.has_bias != 0   ? Heads::kChunkWithBias
                          : plan.has_mask != 0 ? Heads::kChunkWithMask
                                               : Heads::kChunk;
        bias_.SetGlobalBuffer(reinterpret_cast<__gm__ uint16_t*>(arguments.pse_shift));
        mask_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(arguments.atten_mask));
        scores_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace<Heads>, scores)));
        if constexpr (Heads::kProbsInScores) {
            probs_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rings + offsetof(CoreWorkspace<Heads>, scores)));
        } else {
            probs_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rings + offsetof(CoreWorkspace<Heads>, probs)));
        }
        // Brcb reads eight rows at a time: lanes past the last row must hold something.
        AscendC::Duplicate(Float(offsetof(UbMemory<Heads>, row_max)), FloatFromBits(kLowestFloatBits), kVectorRows);
        AscendC::Duplicate(Float(offsetof(UbMemory<Heads>, row_sum)), 0.0F, kVectorRows);
    }

    // Writes P, rounded to T, for the cube core; updates maximum and sum.
    __aicore__ inline void Run(const TileStep& step) {
        const VectorRows rows = buffers_.RowsOf(step);
        if (step.first && rows.count > 0) {
            AscendC::Duplicate(buffers_.RunningMax(step), FloatFromBits(kLowestFloatBits), kVectorRows);
            AscendC::Duplicate(buffers_.RunningSum(step), 0.0F, kVectorRows);
        }
        combine_.AddValues(step);
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorWaitsForScores);
        Shape shape;
        shape.pitch = RoundUp(step.KeyCount(), kFloatsPerRepeat);
        shape.rows = ChunkRows<Heads>(chunk_elements_, shape.pitch);
        if (rows.count > 0) {
            Load(step, rows, shape, 0);
        }
        for (int32_t begin = 0; begin < rows.count; begin += shape.rows) {
            if (begin + shape.rows < rows.count) {
                Load(step, rows, shape, begin + shape.rows);
            }
            Compute(step, rows, shape, begin);
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_MTE3>(CrossCoreFlag::kCubeWaitsForProbs);
    }

private:
    struct Shape {      // of the step's chunks
        int32_t pitch;  // floats from row to row
        int32_t rows;   // at most
    };

    __aicore__ inline AscendC::LocalTensor<float> Float(uint32_t byte_offset) { return buffers_.Float(byte_offset); }

    __aicore__ inline void Load(const TileStep& step, const VectorRows& rows, const Shape& shape, int32_t begin) {
        const int32_t count = Min(rows.count - begin, shape.rows);
        const int32_t columns = RoundUp(step.KeyCount(), kFloatsPerBlock);
        const int32_t slot_pitch = ScorePitch<Heads>(plan_);
        const int32_t buffer = buffers_.FillChunk();
        for (int32_t part = 0; part * Heads::kScoreSlotKeys < columns; ++part) {
            const int32_t first = part * Heads::kScoreSlotKeys;
            const int32_t width = Min(columns - first, Heads::kScoreSlotKeys);
            const AscendC::DataCopyParams params(uint16_t(count), uint16_t(width / kFloatsPerBlock),
                                                 uint16_t((slot_pitch - width) / kFloatsPerBlock),
                                                 uint16_t((shape.pitch - width) / kFloatsPerBlock));
            const int64_t slot = ScoreSlot<Heads>(step.step, part) / int64_t(sizeof(float));
            AscendC::DataCopy(buffers_.Chunk(buffer)[first], scores_[slot + int64_t(rows.offset + begin) * slot_pitch],
                              params);
        }
        if (plan_.has_bias != 0) {
            const RowMap map(plan_, step.tile.sequence, plan_.bias, step.tile.sequence.bias, step.tile.head);
            LoadBiasRows(buffers_.Bias(buffer).template ReinterpretCast<uint16_t>(), shape.pitch, bias_, map,
                         rows.first + begin, count, step.keys.first, step.KeyCount());
        }
        if (plan_.has_mask != 0) {
            const MaskRows needed = MaskRowsOf(plan_, step.tile.sequence, rows.first + begin, count);
            LoadMaskRows(buffers_.Mask(buffer), shape.pitch, mask_, plan_, step.tile.sequence, needed, step.keys.first,
                         step.KeyCount());
        }
        buffers_.ChunkIsFilled(buffer);
    }

    __aicore__ inline void Compute(const TileStep& step, const VectorRows& rows, const Shape& shape, int32_t begin) {
        const int32_t count = Min(rows.count - begin, shape.rows);
        const int32_t buffer = buffers_.UseChunk();
        const AscendC::LocalTensor<float> scores = buffers_.Chunk(buffer);
        ScaleAndMask(step, rows.first + begin, count, shape.pitch, buffer);
        UpdateMaximum(step, begin, count, shape.pitch, scores);
        ApplyToRows<RowOperation::kSub>(scores, buffers_.Broadcast(), count, shape.pitch, shape.pitch);
        AscendC::PipeBarrier<PIPE_V>();
        const AscendC::LocalTensor<float> running_sum = buffers_.RunningSum(step)[begin];
        AscendC::Mul(running_sum, running_sum, buffers_.Correction(step)[begin], RoundUp(count, kFloatsPerBlock));
        AscendC::Exp(scores, scores, count * shape.pitch);
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (Heads::kProbsInScores) {
            StoreProbRows(step, rows.offset + begin, count, shape, scores);
        } else {
            StoreProbs(step, rows.offset + begin, count, shape, scores);
        }
        const AscendC::LocalTensor<float> row_sum = Float(offsetof(UbMemory<Heads>, row_sum))[begin];
        ReduceRows<RowReduction::kSum>(row_sum, scores, buffers_.Scratch(), count, shape.pitch);
        buffers_.ChunkIsUsed(buffer);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(running_sum, running_sum, row_sum, RoundUp(count, kFloatsPerBlock));
    }

    __aicore__ inline void ScaleAndMask(const TileStep& step, int32_t row, int32_t count, int32_t pitch,
                                        int32_t buffer) {
        const AscendC::LocalTensor<float> scores = buffers_.Chunk(buffer);
        const int32_t keys = step.KeyCount();
        const bool tail = keys < pitch;
        if (tail) {  // columns that no key stands behind: anything finite, so that scaling them is harmless
            FillColumns(scores, count, pitch, keys, pitch, 0.0F);
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::Muls(scores, scores, plan_.scale, count * pitch);
        AscendC::PipeBarrier<PIPE_V>();
        if (plan_.has_bias != 0) {
            AddBiasRows(scores, buffers_.Bias(buffer), buffers_.BiasAsFloat(buffer), count, pitch, keys);
        }
        if (plan_.has_sink != 0 && plan_.writes_lse != 0) {
            // A key whose score is -inf is seen: its row's maximum rises, and the sink then takes all of its weight.
            AscendC::Maxs(scores, scores, FloatFromBits(kWeightlessBits), count * pitch);
            AscendC::PipeBarrier<PIPE_V>();
        }
        if (plan_.has_mask != 0) {
            const MaskRows needed = MaskRowsOf(plan_, step.tile.sequence, row, count);
            ApplyMaskRows(scores, buffers_.Mask(buffer), buffers_.MaskAsHalf(buffer), buffers_.MaskBits(buffer), plan_,
                          step.tile.sequence, needed, pitch, keys);
        }
        if (tail) {
            FillColumns(scores, count, pitch, keys, pitch, FloatFromBits(kMinusInfinityBits));
            AscendC::PipeBarrier<PIPE_V>();
        }
        HideOutsideBand(step, row, count, pitch, scores);
    }

    __aicore__ inline void HideOutsideBand(const TileStep& step, int32_t row, int32_t count, int32_t pitch,
                                           const AscendC::LocalTensor<float>& scores) {
        const SequencePlan& sequence = step.tile.sequence;
        const int32_t first_key = step.keys.first;
        const int32_t keys = step.KeyCount();
        const PositionSpan positions = PositionsOfRows(sequence, plan_.group_fold, plan_.row_order, row, count);
        const float hidden = FloatFromBits(kMinusInfinityBits);
        if (ColumnsOfPosition(sequence, positions.last, first_key, keys).begin > 0) {
            for (int32_t i = 0; i < count; ++i) {
                const int32_t position = RowPosition(plan_, sequence, row + i);
                FillColumns(scores[i * pitch], 1, pitch, 0,
                            ColumnsOfPosition(sequence, position, first_key, keys).begin, hidden);
            }
            AscendC::PipeBarrier<PIPE_V>();
        }
        if (ColumnsOfPosition(sequence, positions.first, first_key, keys).end < keys) {
            for (int32_t i = 0; i < count; ++i) {
                const int32_t position = RowPosition(plan_, sequence, row + i);
                FillColumns(scores[i * pitch], 1, pitch, ColumnsOfPosition(sequence, position, first_key, keys).end,
                            keys, hidden);
            }
            AscendC::PipeBarrier<PIPE_V>();
        }
    }

    // Leaves the new maximum of each row in broadcast blocks and exp(old - new) in the step's correction.
    __aicore__ inline void UpdateMaximum(const TileStep& step, int32_t begin, int32_t count, int32_t pitch,
                                         const AscendC::LocalTensor<float>& scores) {
        const int32_t lanes = RoundUp(count, kFloatsPerBlock);
        const AscendC::LocalTensor<float> row_max = Float(offsetof(UbMemory<Heads>, row_max))[begin];
        const AscendC::LocalTensor<float> new_max = Float(offsetof(UbMemory<Heads>, new_max))[begin];
        const AscendC::LocalTensor<float> running_max = buffers_.RunningMax(step)[begin];
        const AscendC::LocalTensor<float> correction = buffers_.Correction(step)[begin];
        ReduceRows<RowReduction::kMax>(row_max, scores, buffers_.Scratch(), count, pitch);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Max(new_max, running_max, row_max, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(correction, running_max, new_max, lanes);
        BroadcastRows(buffers_.Broadcast(), new_max, count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(correction, correction, lanes);
        AscendC::Max(running_max, running_max, row_max, lanes);
    }

    // P goes to its slot in the form in which the cube core wants it in L1: strips of 16 keys, each all rows of the
    // tile one below the other. In UB the strips of a chunk are one block further apart than its rows need.
    __aicore__ inline void StoreProbs(const TileStep& step, int32_t tile_row, int32_t count, const Shape& shape,
                                      const AscendC::LocalTensor<float>& scores) {
        const int32_t strip = shape.rows + 1;
        const int32_t buffer = buffers_.FillStore();
        const AscendC::LocalTensor<T> probs = buffers_.Store(buffer);
        const AscendC::UnaryRepeatParams narrow(uint16_t(strip), 1, 1, uint8_t(shape.pitch / kFloatsPerBlock));
        for (int32_t group = 0; group < shape.pitch; group += kFloatsPerRepeat) {
            AscendC::Cast(probs[group * strip], scores[group], AscendC::RoundMode::CAST_RINT,
                          uint64_t(kFloatsPerRepeat), uint8_t(count), narrow);
        }
        buffers_.StoreIsFilled(buffer);
        const int32_t tile_rows = RoundUp(step.Rows().rows, kFractal);
        const int64_t slot = int64_t(step.step % Heads::kProbSlots) * (Heads::kProbSlotBytes / sizeof(T));
        const AscendC::DataCopyParams params(uint16_t(CeilDiv(step.KeyCount(), kFractal)), uint16_t(count),
                                             uint16_t(strip - count), uint16_t(tile_rows - count));
        AscendC::DataCopy(probs_[slot + int64_t(tile_row) * kFractal], probs, params);
        if (step.Rows().rows == 1) {  // the cube core multiplies a lone row as two
            AscendC::DataCopy(probs_[slot + kFractal], probs, params);
        }
        buffers_.StoreIsWritten(buffer);
    }

    // Row by row, each in the place of its scores: the cube core makes strips of them.
    __aicore__ inline void StoreProbRows(const TileStep& step, int32_t tile_row, int32_t count, const Shape& shape,
                                         const AscendC::LocalTensor<float>& scores) {
        const int32_t buffer = buffers_.FillStore();
        const AscendC::LocalTensor<T> probs = buffers_.Store(buffer);
        const AscendC::UnaryRepeatParams narrow(1, 1, uint8_t(shape.pitch / kHalfsPerBlock),
                                                uint8_t(shape.pitch / kFloatsPerBlock));
        for (int32_t group = 0; group < shape.pitch; group += kFloatsPerRepeat) {
            AscendC::Cast(probs[group], scores[group], AscendC::RoundMode::CAST_RINT, uint64_t(kFloatsPerRepeat),
                          uint8_t(count), narrow);
        }
        buffers_.StoreIsFilled(buffer);
        const int32_t blocks = CeilDiv(step.KeyCount(), kHalfsPerBlock);
        const int32_t slot_pitch = 2 * ScorePitch<Heads>(plan_);  // elements of T
        const int64_t slot = ScoreSlot<Heads>(step.step, 0) / int64_t(sizeof(T));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(blocks),
                                             uint16_t(shape.pitch / kHalfsPerBlock - blocks),
                                             uint16_t(slot_pitch / kHalfsPerBlock - blocks));
        AscendC::DataCopy(probs_[slot + int64_t(tile_row) * slot_pitch], probs, params);
        if (step.Rows().rows == 1) {  // the cube core multiplies a lone row as two
            AscendC::DataCopy(probs_[slot + slot_pitch], probs, params);
        }
        buffers_.StoreIsWritten(buffer);
    }

    VectorBuffers<T, Heads>& buffers_;
    CombineStage<T, Heads>& combine_;
    const AttentionPlan& plan_;
    int32_t chunk_elements_;
    AscendC::GlobalTensor<uint16_t> bias_;  // T, as storage
    AscendC::GlobalTensor<uint8_t> mask_;
    AscendC::GlobalTensor<float> scores_;
    AscendC::GlobalTensor<T> probs_;
};

}  // namespace ascend_attention
