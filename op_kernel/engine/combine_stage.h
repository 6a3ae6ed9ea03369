// SPDX-License-Identifier: Apache-2.0
// The end of a launch in which cores share row tiles: when all of them have left their partial results, each vector
// core merges its share of the rows. Parts are merged in the order of the cores that made them, whoever merges.
#pragma once

#include "engine/finished_rows.h"
#include "engine/partial_results.h"

namespace ascend_attention {

template <typename T, typename Heads>
class CombineStage {
public:
    // `core` counts the vector cores of the launch, `cores` of them.
    __aicore__ inline CombineStage(VectorBuffers<T, Heads>& buffers, FinishedRows<T, Heads>& finished,
                                   const PlanReader& reader, const KernelArguments& arguments, uint32_t core,
                                   uint32_t cores)
        : buffers_(buffers),
          finished_(finished),
          reader_(reader),
          core_(core),
          cores_(cores),
          parts_(reader.Plan(), arguments) {}

    __aicore__ inline void Run() {
        const uint32_t tasks = reader_.Plan().combine_count;
        if (tasks == 0) {
            return;
        }
        AscendC::CrossCoreSetFlag<kAllVectorsMode, PIPE_MTE3>(CrossCoreFlag::kVectorsWaitForParts);
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorsWaitForParts);
        // Vector cores are dealt to the tasks, of which there are fewer, those of a task share its rows.
        const uint32_t index = ((core_ + 1) * tasks - 1) / cores_;
        const int32_t first_core = int32_t(index * cores_ / tasks);
        const int32_t sharing = int32_t((index + 1) * cores_ / tasks) - first_core;
        CombineTask task;
        SequencePlan sequence;
        reader_.Combine(index, task);
        reader_.Sequence(task.sequence, sequence);
        const int32_t rows = RowsOfTile(sequence, reader_.Plan().group_fold, int32_t(task.tile));
        const int32_t share = CeilDiv(rows, sharing);
        const int32_t begin = (int32_t(core_) - first_core) * share;
        const int32_t end = Min(rows, begin + share);
        for (int32_t row = begin; row < end; row += kVectorRows) {
            Merge(task, sequence, row, Min(end - row, kVectorRows));
        }
    }

private:
    __aicore__ inline void Merge(const CombineTask& task, const SequencePlan& sequence, int32_t row, int32_t count) {
        const int32_t parts = int32_t(task.part_count);
        const int32_t chunk_rows = finished_.ChunkRowCount();
        const AscendC::LocalTensor<float> maximum = buffers_.Float(offsetof(UbMemory<Heads>, running_max));
        const AscendC::LocalTensor<float> sum = buffers_.Float(offsetof(UbMemory<Heads>, running_sum));
        LoadValues(task, row, count);
        LoadOutput(task, 0, row, Min(count, chunk_rows));
        const AscendC::LocalTensor<float> accumulator = buffers_.Accumulators();  // of a chunk of rows
        const AscendC::LocalTensor<float> weights = accumulator[Heads::kChunk];
        MergeValues(parts, count, maximum, sum, weights);
        const HeadRows rows{sequence, task.head, int32_t(task.tile) * sequence.tile_rows + row, count};
        finished_.Prepare(rows, maximum, sum);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Div(weights, weights, finished_.Divisor(), uint64_t(RoundUp(count, kFloatsPerBlock)), uint8_t(parts),
                     AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 0));
        AscendC::PipeBarrier<PIPE_V>();
        for (int32_t begin = 0; begin < count; begin += chunk_rows) {
            const int32_t chunk = Min(count - begin, chunk_rows);
            for (int32_t part = 0; part < parts; ++part) {
                const int32_t next = part + 1 < parts ? begin : begin + chunk_rows;
                if (next < count) {
                    LoadOutput(task, (part + 1) % parts, row + next, Min(count - next, chunk_rows));
                }
                AddPart(accumulator, weights[part * kVectorRows + begin], chunk, part == 0);
            }
            finished_.WriteDivided({sequence, task.head, rows.first + begin, chunk}, accumulator);
        }
        finished_.WriteValues(rows, maximum, sum);
    }

    // Adds the part that has been loaded next.
    __aicore__ inline void AddPart(const AscendC::LocalTensor<float>& total, const AscendC::LocalTensor<float>& weights,
                                   int32_t count, bool first) {
        const int32_t pitch = finished_.Pitch();
        BroadcastRows(buffers_.Broadcast(), weights, count);
        const int32_t buffer = buffers_.UseChunk();
        const AscendC::LocalTensor<float> output = buffers_.Chunk(buffer);
        AscendC::PipeBarrier<PIPE_V>();
        ApplyToRows<RowOperation::kMul>(output, buffers_.Broadcast(), count, finished_.Columns(), pitch);
        AscendC::PipeBarrier<PIPE_V>();
        AccumulateRows(total, output, count, finished_.Columns(), pitch, pitch, first);
        buffers_.ChunkIsUsed(buffer);
    }

    // A task's first part begins its row tile, hence lies in the tail slot of its core; the others in head slots.
    __aicore__ inline int64_t Slot(const CombineTask& task, int32_t part) const {
        return parts_.Slot(task.first_core + uint32_t(part), part == 0 ? kTailSlot : kHeadSlot);
    }

    // Maxima and sums of all parts, kVectorRows apart.
    __aicore__ inline void LoadValues(const CombineTask& task, int32_t row, int32_t count) {
        const int32_t buffer = buffers_.FillChunk();
        const AscendC::LocalTensor<float> maxima = buffers_.Chunk(buffer);
        const AscendC::LocalTensor<float> sums = maxima[kPartsMax * kVectorRows];
        const int32_t lanes = RoundUp(count, kFloatsPerBlock);
        const uint32_t bytes = uint32_t(count * int32_t(sizeof(float)));
        const AscendC::DataCopyPadExtParams<float> padding(true, 0, uint8_t(lanes - count), 0.0F);
        const AscendC::DataCopyExtParams one(1, bytes, 0, 0, 0);
        AscendC::DataCopyPad(maxima, parts_.At(Slot(task, 0) + parts_.Maximum(row)), one, padding);
        AscendC::DataCopyPad(sums, parts_.At(Slot(task, 0) + parts_.Sum(row)), one, padding);
        const AscendC::DataCopyExtParams others(uint16_t(task.part_count - 1), bytes,
                                                uint32_t(parts_.CoreStride() * int64_t(sizeof(float))) - bytes,
                                                uint32_t((kVectorRows - lanes) / kFloatsPerBlock), 0);
        AscendC::DataCopyPad(maxima[kVectorRows], parts_.At(Slot(task, 1) + parts_.Maximum(row)), others, padding);
        AscendC::DataCopyPad(sums[kVectorRows], parts_.At(Slot(task, 1) + parts_.Sum(row)), others, padding);
        buffers_.ChunkIsFilled(buffer);
    }

    __aicore__ inline void LoadOutput(const CombineTask& task, int32_t part, int32_t row, int32_t count) {
        const int32_t columns = finished_.Columns();
        const int32_t buffer = buffers_.FillChunk();
        AscendC::DataCopy(buffers_.Chunk(buffer), parts_.At(Slot(task, part) + parts_.Output(row)),
                          AscendC::DataCopyParams(uint16_t(count), uint16_t(columns / kFloatsPerBlock), 0,
                                                  uint16_t((finished_.Pitch() - columns) / kFloatsPerBlock)));
        buffers_.ChunkIsFilled(buffer);
    }

    // Maximum and sum over all parts, and the weight of each part: exp(its maximum - the maximum). All kVectorRows
    // lanes of maximum and sum are defined.
    __aicore__ inline void MergeValues(int32_t parts, int32_t count, const AscendC::LocalTensor<float>& maximum,
                                       const AscendC::LocalTensor<float>& sum,
                                       const AscendC::LocalTensor<float>& weights) {
        const int32_t lanes = RoundUp(count, kFloatsPerBlock);
        const uint64_t mask = uint64_t(lanes);
        const int32_t buffer = buffers_.UseChunk();
        const AscendC::LocalTensor<float> maxima = buffers_.Chunk(buffer);
        const AscendC::LocalTensor<float> sums = maxima[kPartsMax * kVectorRows];
        AscendC::Duplicate(maximum, FloatFromBits(kLowestFloatBits), kVectorRows);
        AscendC::Duplicate(sum, 0.0F, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        for (int32_t part = 0; part < parts; ++part) {
            AscendC::Max(maximum, maximum, maxima[part * kVectorRows], lanes);
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::Sub(weights, maxima, maximum, mask, uint8_t(parts), AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 0));
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(weights, weights, mask, uint8_t(parts), AscendC::UnaryRepeatParams(1, 1, 8, 8));
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Mul(sums, sums, weights, mask, uint8_t(parts), AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
        AscendC::PipeBarrier<PIPE_V>();
        for (int32_t part = 0; part < parts; ++part) {
            AscendC::Add(sum, sum, sums[part * kVectorRows], lanes);
            AscendC::PipeBarrier<PIPE_V>();
        }
        buffers_.ChunkIsUsed(buffer);
    }

    VectorBuffers<T, Heads>& buffers_;
    FinishedRows<T, Heads>& finished_;
    const PlanReader& reader_;
    uint32_t core_;
    uint32_t cores_;
    PartialResults parts_;
};

}  // namespace ascend_attention
