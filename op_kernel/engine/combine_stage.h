// SPDX-License-Identifier: Apache-2.0
// Row tiles that cores share. Where the other part of one has been there for long, the core that the tile begins on
// adds it on the way, like one more step. The rows of all other tiles are dealt among the vector cores at the end of
// the launch. Who reads parts waits for all of their kind. Nobody waits before what it leaves itself of that kind has
// been stored: first parts are added to the last row tile only, and the plan sees to it that enough steps lie between
// the two. So all get there. Parts are added in the order of the cores that made them, whoever adds, so that the bits
// are the same in every run.
#pragma once

#include "engine/finished_rows.h"
#include "engine/partial_results.h"

namespace ascend_attention {

template <typename T, typename Heads>
class CombineStage {
public:
    // `core` counts the vector cores of the launch, `cores` of them.
    __aicore__ inline CombineStage(VectorBuffers<T, Heads>& buffers, FinishedRows<T, Heads>& finished,
                                   const PlanReader& reader, const KernelArguments& arguments, const CoreRange& range,
                                   uint32_t core, uint32_t cores)
        : buffers_(buffers),
          finished_(finished),
          reader_(reader),
          core_(core),
          cores_(cores),
          merged_{0, 0, 0, core / (cores / reader.Plan().core_count), 2, kHeadSlot},
          parts_(reader.Plan(), arguments) {
        if (reader.Plan().combine_count > 0) {
            const bool begins_late = range.key_begin > 0;
            const bool ends_early = range.key_end != kWholeTile;
            const bool alone = range.tile_total == 1;
            if (!begins_late || alone) {
                PartIsStored(kHeadSlot);
            }
            if (range.merges != 0 || !(ends_early || (begins_late && alone))) {
                PartIsStored(kTailSlot);
            }
        }
    }

    // What the core leaves in a slot is there, or nothing will be.
    __aicore__ inline void PartIsStored(int32_t slot) {
        if (slot == kHeadSlot) {
            AscendC::CrossCoreSetFlag<kAllVectorsMode, PIPE_MTE3>(CrossCoreFlag::kVectorsWaitForFirstParts);
        } else {
            AscendC::CrossCoreSetFlag<kAllVectorsMode, PIPE_MTE3>(CrossCoreFlag::kVectorsWaitForLastParts);
        }
    }

    __aicore__ inline bool Merges(const TileStep& step) const { return step.Merges(reader_.Plan().tile_keys); }

    // Before the softmax of a step: maximum and sum get those of the other part, and become what they would be had this
    // core seen its keys.
    __aicore__ inline void AddValues(const TileStep& step) {
        if (!Merges(step)) {
            return;
        }
        const VectorRows rows = buffers_.RowsOf(step);
        WaitForFirstParts();
        if (rows.count == 0) {
            return;
        }
        const AscendC::LocalTensor<float> maximum = buffers_.RunningMax(step);
        const AscendC::LocalTensor<float> sum = buffers_.RunningSum(step);
        const AscendC::LocalTensor<float> own = buffers_.Float(offsetof(UbMemory<Heads>, own_weight));
        const AscendC::LocalTensor<float> part = buffers_.Float(offsetof(UbMemory<Heads>, part_weight));
        const int32_t lanes = RoundUp(rows.count, kFloatsPerBlock);
        LoadValues(merged_, 1, rows.offset, rows.count);
        const int32_t buffer = buffers_.UseChunk();
        const AscendC::LocalTensor<float> other_max = buffers_.Chunk(buffer)[kVectorRows];
        const AscendC::LocalTensor<float> other_sum = other_max[kPartsMax * kVectorRows];
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Max(part, maximum, other_max, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(own, maximum, part, lanes);
        AscendC::Sub(other_max, other_max, part, lanes);
        AscendC::Muls(maximum, part, 1.0F, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(own, own, lanes);
        AscendC::Exp(part, other_max, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Mul(sum, sum, own, lanes);
        AscendC::Mul(other_sum, other_sum, part, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(sum, sum, other_sum, lanes);
        buffers_.ChunkIsUsed(buffer);
    }

    // Before the P V of the step is added: the running output, likewise.
    __aicore__ inline void AddOutput(const TileStep& step) {
        if (!Merges(step)) {
            return;
        }
        const VectorRows rows = buffers_.RowsOf(step);
        const int32_t pitch = finished_.Pitch();
        const int32_t chunk_rows = finished_.ChunkRowCount();
        const AscendC::LocalTensor<float> own = buffers_.Float(offsetof(UbMemory<Heads>, own_weight));
        const AscendC::LocalTensor<float> part = buffers_.Float(offsetof(UbMemory<Heads>, part_weight));
        if (rows.count > 0) {
            LoadOutput(merged_, 1, rows.offset, Min(rows.count, chunk_rows));
        }
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows) {
            const int32_t count = Min(rows.count - begin, chunk_rows);
            const AscendC::LocalTensor<float> total = buffers_.Accumulator(step, pitch)[begin * pitch];
            const int32_t next = begin + chunk_rows;
            if (next < rows.count) {
                LoadOutput(merged_, 1, rows.offset + next, Min(rows.count - next, chunk_rows));
            }
            if (!step.first) {
                BroadcastRows(buffers_.Broadcast(), own[begin], count);
                AscendC::PipeBarrier<PIPE_V>();
                ApplyToRows<RowOperation::kMul>(total, buffers_.Broadcast(), count, finished_.Columns(), pitch);
            }
            AddPart(total, part[begin], count, step.first);
        }
    }

    // When all steps are done.
    __aicore__ inline void Run() {
        const AttentionPlan& plan = reader_.Plan();
        if (plan.combine_count == 0) {
            return;
        }
        CombineTask task;
        SequencePlan sequence;
        int32_t begin = 0;
        int32_t end = 0;
        if (const uint32_t tasks = plan.dealt_count; tasks > 0) {  // read before the wait
            // Vector cores are dealt to the tasks, of which there are fewer, those of a task share its rows.
            const uint32_t index = ((core_ + 1) * tasks - 1) / cores_;
            const int32_t first_core = int32_t(index * cores_ / tasks);
            const int32_t sharing = int32_t((index + 1) * cores_ / tasks) - first_core;
            reader_.Combine(index, task);
            reader_.Sequence(task.sequence, sequence);
            const int32_t rows = RowsOfTile(sequence, plan.group_fold, int32_t(task.tile));
            const int32_t share = CeilDiv(rows, sharing);
            begin = (int32_t(core_) - first_core) * share;
            end = Min(rows, begin + share);
        }
        WaitForFirstParts();
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorsWaitForLastParts);
        for (int32_t row = begin; row < end; row += kVectorRows) {
            Merge(task, sequence, row, Min(end - row, kVectorRows));
        }
    }

private:
    __aicore__ inline void WaitForFirstParts() {
        if (!first_parts_are_there_) {
            AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorsWaitForFirstParts);
            first_parts_are_there_ = true;
        }
    }

    __aicore__ inline void Merge(const CombineTask& task, const SequencePlan& sequence, int32_t row, int32_t count) {
        const int32_t parts = int32_t(task.part_count);
        const int32_t chunk_rows = finished_.ChunkRowCount();
        const AscendC::LocalTensor<float> maximum = buffers_.Float(offsetof(UbMemory<Heads>, running_max));
        const AscendC::LocalTensor<float> sum = buffers_.Float(offsetof(UbMemory<Heads>, running_sum));
        LoadValues(task, 0, row, count);
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
            finished_.WriteDivided({sequence, task.head, rows.first + begin, chunk}, {0, finished_.Columns()},
                                   accumulator);
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

    __aicore__ inline int64_t Slot(const CombineTask& task, int32_t part) const {
        const bool last = part + 1 == int32_t(task.part_count);
        return parts_.Slot(task.first_core + uint32_t(part), last ? task.last_slot : kTailSlot);
    }

    // Maxima and sums of the parts from `first` on, kVectorRows apart, into the next chunk.
    __aicore__ inline void LoadValues(const CombineTask& task, int32_t first, int32_t row, int32_t count) {
        const int32_t last = int32_t(task.part_count) - 1;
        const int32_t buffer = buffers_.FillChunk();
        if (first < last) {
            CopyValues(task, first, last - first, row, count, buffers_.Chunk(buffer));
        }
        CopyValues(task, last, 1, row, count, buffers_.Chunk(buffer));
        buffers_.ChunkIsFilled(buffer);
    }

    // `parts` parts that lie in the tail slots of neighbouring cores, or one.
    __aicore__ inline void CopyValues(const CombineTask& task, int32_t first, int32_t parts, int32_t row, int32_t count,
                                      const AscendC::LocalTensor<float>& maxima) {
        const int64_t slot = Slot(task, first);
        const int32_t lanes = RoundUp(count, kFloatsPerBlock);
        const uint32_t bytes = uint32_t(count * int32_t(sizeof(float)));
        const AscendC::DataCopyPadExtParams<float> padding(true, 0, uint8_t(lanes - count), 0.0F);
        const AscendC::DataCopyExtParams params(uint16_t(parts), bytes,
                                                uint32_t(parts_.TailStride() * int64_t(sizeof(float))) - bytes,
                                                uint32_t((kVectorRows - lanes) / kFloatsPerBlock), 0);
        const AscendC::LocalTensor<float> sums = maxima[kPartsMax * kVectorRows];
        AscendC::DataCopyPad(maxima[first * kVectorRows], parts_.At(slot + parts_.Maximum(row)), params, padding);
        AscendC::DataCopyPad(sums[first * kVectorRows], parts_.At(slot + parts_.Sum(row)), params, padding);
    }

    __aicore__ inline void LoadOutput(const CombineTask& task, int32_t part, int32_t row, int32_t count) {
        const int32_t columns = finished_.Columns();
        const int64_t slot = Slot(task, part);
        const int32_t buffer = buffers_.FillChunk();
        for (int32_t begin = 0; begin < columns; begin += Heads::kPartialColumns) {
            const int32_t width = Min(columns - begin, Heads::kPartialColumns);
            AscendC::DataCopy(buffers_.Chunk(buffer)[begin],
                              parts_.At(slot + parts_.Output(begin / Heads::kPartialColumns, row)),
                              AscendC::DataCopyParams(uint16_t(count), uint16_t(width / kFloatsPerBlock),
                                                      uint16_t((parts_.Pitch() - width) / kFloatsPerBlock),
                                                      uint16_t((finished_.Pitch() - width) / kFloatsPerBlock)));
        }
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
    bool first_parts_are_there_ = false;
    CombineTask merged_;  // of which only the place of the parts matters
    PartialResults parts_;
};

}  // namespace ascend_attention
