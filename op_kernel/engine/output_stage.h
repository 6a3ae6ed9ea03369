// SPDX-License-Identifier: Apache-2.0
// The running output of a row tile, by a vector core over its half of the rows: rescaled and added to once a step,
// finished after the last one, or left to the combine stage when other cores have the rest of the keys.
#pragma once

#include "engine/combine_stage.h"

namespace ascend_attention {

template <typename T, typename Heads>
class OutputStage {
public:
    __aicore__ inline OutputStage(VectorBuffers<T, Heads>& buffers, FinishedRows<T, Heads>& finished,
                                  CombineStage<T, Heads>& combine, const AttentionPlan& plan,
                                  const KernelArguments& arguments, GM_ADDR rings, uint32_t core)
        : buffers_(buffers), finished_(finished), combine_(combine), core_(core), parts_(plan, arguments) {
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + PartialBegin<Heads>()));
    }

    // O = O * correction + P V, of one pass over the channels. Those of the last step go to where they are wanted.
    __aicore__ inline void Run(const TileStep& step, int32_t pass) {
        const VectorRows rows = buffers_.RowsOf(step);
        const int32_t slot = step.Rows().part_slot;
        const bool stores = step.last && (slot == kHeadSlot || slot == kTailSlot);
        const bool finishes = step.last && !stores;
        const bool ends = step.last && pass + 1 == PassCount();
        const HeadRows head_rows{step.tile.sequence, step.tile.head, rows.first, rows.count};
        if (step.first && pass == 0) {
            WaitForPart();
        }
        if (pass == 0) {
            combine_.AddOutput(step);
        }
        if (finishes && pass == 0 && rows.count > 0) {
            finished_.Prepare(head_rows, buffers_.RunningMax(step), buffers_.RunningSum(step));
        }
        const ChannelSpan channels = ChannelsOf(pass);
        const bool stores_values = stores && pass == 0 && rows.count > 0;
        if (stores_values && Heads::kPartialInScores) {
            StorePartValues(step, rows);
        }
        Rescale(step, rows, channels);
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorWaitsForPartial);
        // Where they take the place of scores, both vector cores have read those now.
        if (stores_values && !Heads::kPartialInScores) {
            StorePartValues(step, rows);
        }
        AddChannels(step, rows, pass, stores, finishes);
        if (finishes && ends && rows.count > 0) {
            finished_.WriteValues(head_rows, buffers_.RunningMax(step), buffers_.RunningSum(step));
        }
        if (stores && ends) {
            if (rows.count > 0) {
                AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kPart);
                part_is_stored_ = true;
            }
            combine_.PartIsStored(slot);
        }
    }

    __aicore__ inline int32_t PassCount() const { return CeilDiv(finished_.Columns(), Heads::kPartialColumns); }

    // A row tile that sees no key.
    __aicore__ inline void WriteEmpty(const TileStep& step) {
        const VectorRows rows = buffers_.RowsOf(step);
        if (rows.count > 0) {
            finished_.WriteEmpty({step.tile.sequence, step.tile.head, rows.first, rows.count});
        }
    }

    // The running output may be overwritten.
    __aicore__ inline void WaitForPart() {
        if (part_is_stored_) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kPart);
            part_is_stored_ = false;
        }
    }

private:
    __aicore__ inline ChannelSpan ChannelsOf(int32_t pass) const {
        const int32_t begin = pass * Heads::kPartialColumns;
        return {begin, Min(finished_.Columns() - begin, Heads::kPartialColumns)};
    }

    __aicore__ inline static int32_t ChunkRowsOf(const ChannelSpan& channels) {
        return ChunkRows<Heads>(Heads::kChunk, RoundUp(channels.count, kFloatsPerRepeat));
    }

    __aicore__ inline bool IsFresh(const TileStep& step) const { return step.first && !combine_.Merges(step); }

    // What was added up so far, to the new maximum: while P V is still on its way.
    __aicore__ inline void Rescale(const TileStep& step, const VectorRows& rows, const ChannelSpan& channels) {
        if (IsFresh(step)) {
            return;
        }
        const int32_t pitch = finished_.Pitch();
        const int32_t chunk_rows = ChunkRowsOf(channels);
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows) {
            const int32_t count = Min(rows.count - begin, chunk_rows);
            BroadcastRows(buffers_.Broadcast(), buffers_.Correction(step)[begin], count);
            AscendC::PipeBarrier<PIPE_V>();
            ApplyToRows<RowOperation::kMul>(buffers_.Accumulator(step, pitch)[begin * pitch + channels.begin],
                                            buffers_.Broadcast(), count, channels.count, pitch);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }

    // One pass. Rows are stored or written as they are completed.
    __aicore__ inline void AddChannels(const TileStep& step, const VectorRows& rows, int32_t pass, bool stores,
                                       bool finishes) {
        const ChannelSpan channels = ChannelsOf(pass);
        const int32_t chunk_rows = ChunkRowsOf(channels);
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows) {
            const int32_t count = Min(rows.count - begin, chunk_rows);
            Add(step, rows, begin, count, pass);
            const AscendC::LocalTensor<float> accumulator =
                buffers_.Accumulator(step, finished_.Pitch())[begin * finished_.Pitch()];
            if (stores) {
                StorePart(step, rows.offset + begin, count, pass, accumulator[channels.begin]);
            } else if (finishes) {
                finished_.WriteRows({step.tile.sequence, step.tile.head, rows.first + begin, count}, channels,
                                    accumulator[channels.begin], finished_.Divisor()[begin]);
            }
        }
    }

    // P V of `count` rows from `begin`.
    __aicore__ inline void Add(const TileStep& step, const VectorRows& rows, int32_t begin, int32_t count,
                               int32_t pass) {
        const ChannelSpan channels = ChannelsOf(pass);
        const int32_t columns = channels.count;
        const int32_t pitch = finished_.Pitch();
        const int32_t chunk_pitch = RoundUp(columns, kFloatsPerRepeat);
        const int32_t slot_pitch = RoundUp(Min(finished_.Columns(), Heads::kPartialColumns), Heads::kPartialPitchStep);
        const int64_t slot = PartialSlot<Heads>(step, pass) / int64_t(sizeof(float));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(columns / kFloatsPerBlock),
                                             uint16_t((slot_pitch - columns) / kFloatsPerBlock),
                                             uint16_t((chunk_pitch - columns) / kFloatsPerBlock));
        const int32_t filled = buffers_.FillChunk();
        AscendC::DataCopy(buffers_.Chunk(filled), partial_[slot + int64_t(rows.offset + begin) * slot_pitch], params);
        buffers_.ChunkIsFilled(filled);

        const int32_t buffer = buffers_.UseChunk();
        AccumulateRows(buffers_.Accumulator(step, pitch)[begin * pitch + channels.begin], buffers_.Chunk(buffer), count,
                       columns, pitch, chunk_pitch, IsFresh(step));
        buffers_.ChunkIsUsed(buffer);
    }

    // The partial result of a split row tile: the running output as it is, rows and channels as they are completed.
    __aicore__ inline void StorePart(const TileStep& step, int32_t row, int32_t count, int32_t pass,
                                     const AscendC::LocalTensor<float>& accumulator) {
        const int32_t columns = ChannelsOf(pass).count;
        const int64_t slot = parts_.Slot(core_, step.Rows().part_slot);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kPart);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kPart);
        AscendC::DataCopy(parts_.At(slot + parts_.Output(pass, row)), accumulator,
                          AscendC::DataCopyParams(uint16_t(count), uint16_t(columns / kFloatsPerBlock),
                                                  uint16_t((finished_.Pitch() - columns) / kFloatsPerBlock),
                                                  uint16_t((parts_.Pitch() - columns) / kFloatsPerBlock)));
    }

    // Its maxima and sums.
    __aicore__ inline void StorePartValues(const TileStep& step, const VectorRows& rows) {
        const int64_t slot = parts_.Slot(core_, step.Rows().part_slot);
        const int32_t buffer = buffers_.FillStore();
        const AscendC::LocalTensor<float> maximum = buffers_.FloatStore(buffer);
        const AscendC::LocalTensor<float> sum = maximum[kVectorRows];
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Muls(maximum, buffers_.RunningMax(step), 1.0F, kVectorRows);
        AscendC::Muls(sum, buffers_.RunningSum(step), 1.0F, kVectorRows);
        buffers_.StoreIsFilled(buffer);
        const uint16_t blocks = uint16_t(CeilDiv(rows.count, kFloatsPerBlock));
        const AscendC::DataCopyParams values(1, blocks, 0, 0);
        AscendC::DataCopy(parts_.At(slot + parts_.Maximum(rows.offset)), maximum, values);
        AscendC::DataCopy(parts_.At(slot + parts_.Sum(rows.offset)), sum, values);
        buffers_.StoreIsWritten(buffer);
    }

    VectorBuffers<T, Heads>& buffers_;
    FinishedRows<T, Heads>& finished_;
    CombineStage<T, Heads>& combine_;
    uint32_t core_;
    bool part_is_stored_ = false;  // is the event that says so still to be waited for?
    PartialResults parts_;
    AscendC::GlobalTensor<float> partial_;
};

}  // namespace ascend_attention
