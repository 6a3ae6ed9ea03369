// SPDX-License-Identifier: Apache-2.0
// The running output of a row tile, by a vector core over its half of the rows: rescaled and added to once a step,
// finished after the last one, or left to the combine stage when other cores have the rest of the keys.
#pragma once

#include "engine/finished_rows.h"
#include "engine/partial_results.h"

namespace ascend_attention {

template <typename T, typename Heads>
class OutputStage {
public:
    __aicore__ inline OutputStage(VectorBuffers<T, Heads>& buffers, FinishedRows<T, Heads>& finished,
                                  const AttentionPlan& plan, const KernelArguments& arguments, GM_ADDR rings,
                                  uint32_t core)
        : buffers_(buffers), finished_(finished), core_(core), parts_(plan, arguments) {
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace<Heads>, partial)));
    }

    // O = O * correction + P V, of one pass over the channels.
    __aicore__ inline void Run(const TileStep& step, int32_t pass) {
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorWaitsForPartial);
        const VectorRows rows = buffers_.RowsOf(step);
        const bool ends = step.last && rows.count > 0 && pass + 1 == PassCount();
        const bool finishes = ends && step.Rows().part_slot == kNotSplit;
        const HeadRows head_rows{step.tile.sequence, step.tile.head, rows.first, rows.count};
        if (step.first && pass == 0) {
            WaitForPart();
        }
        if (finishes) {
            finished_.Prepare(head_rows, buffers_.RunningMax(step), buffers_.RunningSum(step));
        }
        const int32_t columns = Min(finished_.Columns() - pass * Heads::kPartialColumns, Heads::kPartialColumns);
        const int32_t chunk_rows = ChunkRows<Heads>(Heads::kChunk, RoundUp(columns, kFloatsPerRepeat));
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows) {
            const int32_t count = Min(rows.count - begin, chunk_rows);
            Update(step, rows, begin, count, pass * Heads::kPartialColumns, columns);
            if (step.last && step.Rows().part_slot != kNotSplit) {
                StorePart(step, rows.offset + begin, count, pass * Heads::kPartialColumns, columns,
                          buffers_.Accumulator(step, finished_.Pitch())[begin * finished_.Pitch()]);
            }
        }
        if (finishes) {
            finished_.Write(head_rows, buffers_.Accumulator(step, finished_.Pitch()), buffers_.RunningMax(step),
                            buffers_.RunningSum(step));
        } else if (ends) {
            StorePartValues(step, rows);
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
    // `count` rows from `begin`, `columns` channels from `channel`.
    __aicore__ inline void Update(const TileStep& step, const VectorRows& rows, int32_t begin, int32_t count,
                                  int32_t channel, int32_t columns) {
        const int32_t pitch = finished_.Pitch();
        const int32_t chunk_pitch = RoundUp(columns, kFloatsPerRepeat);
        const int32_t slot_pitch =
            Heads::kRowGroup == 1 ? Heads::kPartialColumns : RoundUp(finished_.Columns(), kCubeStep);
        const int64_t slot = int64_t(step.step % Heads::kPartialSlots) * (Heads::kPartialSlotBytes / sizeof(float));
        const AscendC::DataCopyParams params(uint16_t(count), uint16_t(columns / kFloatsPerBlock),
                                             uint16_t((slot_pitch - columns) / kFloatsPerBlock),
                                             uint16_t((chunk_pitch - columns) / kFloatsPerBlock));
        const int32_t filled = buffers_.FillChunk();
        AscendC::DataCopy(buffers_.Chunk(filled), partial_[slot + int64_t(rows.offset + begin) * slot_pitch], params);
        buffers_.ChunkIsFilled(filled);

        const AscendC::LocalTensor<float> accumulator = buffers_.Accumulator(step, pitch)[begin * pitch + channel];
        if (!step.first) {
            BroadcastRows(buffers_.Broadcast(), buffers_.Correction(step)[begin], count);
            AscendC::PipeBarrier<PIPE_V>();
            ApplyToRows<RowOperation::kMul>(accumulator, buffers_.Broadcast(), count, columns, pitch);
            AscendC::PipeBarrier<PIPE_V>();
        }
        const int32_t buffer = buffers_.UseChunk();
        AccumulateRows(accumulator, buffers_.Chunk(buffer), count, columns, pitch, chunk_pitch, step.first);
        buffers_.ChunkIsUsed(buffer);
    }

    // The partial result of a split row tile: the running output as it is, rows and channels as they are completed.
    __aicore__ inline void StorePart(const TileStep& step, int32_t row, int32_t count, int32_t channel, int32_t columns,
                                     const AscendC::LocalTensor<float>& accumulator) {
        const int64_t slot = parts_.Slot(core_, step.Rows().part_slot);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kPart);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kPart);
        AscendC::DataCopy(parts_.At(slot + parts_.Output(row) + channel), accumulator[channel],
                          AscendC::DataCopyParams(uint16_t(count), uint16_t(columns / kFloatsPerBlock),
                                                  uint16_t((finished_.Pitch() - columns) / kFloatsPerBlock),
                                                  uint16_t((finished_.Columns() - columns) / kFloatsPerBlock)));
    }

    // Its maxima and sums, the last of it.
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
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kPart);
        part_is_stored_ = true;
    }

    VectorBuffers<T, Heads>& buffers_;
    FinishedRows<T, Heads>& finished_;
    uint32_t core_;
    bool part_is_stored_ = false;  // is the event that says so still to be waited for?
    PartialResults parts_;
    AscendC::GlobalTensor<float> partial_;
};

}  // namespace ascend_attention
