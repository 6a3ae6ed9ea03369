// SPDX-License-Identifier: Apache-2.0
// The end of a row: its sink, the division by its sum, rounding to T, and the stores of output and LSE. Rows come from
// the last step of a row tile or, when the keys of that are split between cores, from the combine stage.
#pragma once

#include "engine/vector_buffers.h"
#include "parts/band_mask.h"
#include "parts/row_reduce.h"
#include "parts/row_store.h"

namespace ascend_attention {

// Up to kVectorRows rows of a head of the plan.
struct HeadRows {
    const SequencePlan& sequence;
    uint32_t head;
    int32_t first;
    int32_t count;
};

// Of an output row, in whole fractals.
struct ChannelSpan {
    int32_t begin;
    int32_t count;
};

template <typename T, typename Heads>
class FinishedRows {
public:
    __aicore__ inline FinishedRows(VectorBuffers<T, Heads>& buffers, const AttentionPlan& plan,
                                   const KernelArguments& arguments)
        : buffers_(buffers), plan_(plan) {
        output_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.attention_out));
        lse_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(arguments.softmax_lse));
        sinks_.SetGlobalBuffer(reinterpret_cast<__gm__ uint16_t*>(arguments.learnable_sink));
        columns_ = RoundUp(int32_t(plan.value_head_dim), kFractal);
        pitch_ = RoundUp(columns_, kFloatsPerRepeat);
        chunk_rows_ = ChunkRows<Heads>(Heads::kChunk, pitch_);
    }

    // Channels of an output row as they are computed, in whole fractals.
    __aicore__ inline int32_t Columns() const { return columns_; }
    // Floats of an output row in UB.
    __aicore__ inline int32_t Pitch() const { return pitch_; }
    __aicore__ inline int32_t ChunkRowCount() const { return chunk_rows_; }

    // What the rows will be divided by, from the maximum and sum of each, which get the sink. Needs nothing of the
    // running output, so it comes before the last addition to that, which waits for P V.
    __aicore__ inline void Prepare(const HeadRows& rows, const AscendC::LocalTensor<float>& maximum,
                                   const AscendC::LocalTensor<float>& sum) {
        const AscendC::LocalTensor<float> divisor = Float(offsetof(UbMemory<Heads>, divisor));
        AscendC::PipeBarrier<PIPE_V>();
        if (plan_.writes_lse != 0) {  // the sink is not a key
            AscendC::CompareScalar(buffers_.Bytes(offsetof(UbMemory<Heads>, seen)), sum, 0.0F, AscendC::CMPMODE::NE,
                                   uint64_t(kFloatsPerRepeat), 1, AscendC::UnaryRepeatParams(1, 1, 8, 8));
        }
        if (plan_.has_sink != 0) {
            ApplySink(rows, maximum, sum, divisor);
            AscendC::Maxs(divisor, divisor, kSumFloor, kVectorRows);
        } else {
            AscendC::Maxs(divisor, sum, kSumFloor, kVectorRows);
        }
    }

    __aicore__ inline AscendC::LocalTensor<float> Divisor() { return Float(offsetof(UbMemory<Heads>, divisor)); }

    // After Prepare: some channels of a chunk of rows. Their running output lies Pitch() apart and is used up.
    // `divisor`: of the first row.
    __aicore__ inline void WriteRows(const HeadRows& rows, const ChannelSpan& channels,
                                     const AscendC::LocalTensor<float>& accumulator,
                                     const AscendC::LocalTensor<float>& divisor) {
        AscendC::PipeBarrier<PIPE_V>();
        BroadcastRows(buffers_.Broadcast(), divisor, rows.count);
        AscendC::PipeBarrier<PIPE_V>();
        ApplyToRows<RowOperation::kDiv>(accumulator, buffers_.Broadcast(), rows.count, channels.count, pitch_);
        WriteDivided(rows, channels, accumulator);
    }
    // The same where what was added up had been divided.
    __aicore__ inline void WriteDivided(const HeadRows& rows, const ChannelSpan& channels,
                                        const AscendC::LocalTensor<float>& accumulator) {
        const RowMap map(plan_, rows.sequence, plan_.output, rows.sequence.output, rows.head);
        const int32_t pitch = RoundUp(channels.count, kFloatsPerRepeat);
        const AscendC::UnaryRepeatParams narrow(1, 1, uint8_t(pitch / kHalfsPerBlock),
                                                uint8_t(pitch_ / kFloatsPerBlock));
        AscendC::PipeBarrier<PIPE_V>();
        const int32_t buffer = buffers_.FillStore();
        const AscendC::LocalTensor<T> result = buffers_.Store(buffer);
        for (int32_t group = 0; group < channels.count; group += kFloatsPerRepeat) {
            AscendC::Cast(result[group], accumulator[group], AscendC::RoundMode::CAST_RINT,
                          uint64_t(Min(channels.count - group, kFloatsPerRepeat)), uint8_t(rows.count), narrow);
        }
        StoreOutput(buffer, map, rows.first, rows.count, channels, pitch);
    }
    // The last of it.
    __aicore__ inline void WriteValues(const HeadRows& rows, const AscendC::LocalTensor<float>& maximum,
                                       const AscendC::LocalTensor<float>& sum) {
        if (plan_.writes_lse != 0) {
            WriteLse(rows, maximum, sum);
        }
    }

    // Rows that see no key: zeros, LSE +inf.
    __aicore__ inline void WriteEmpty(const HeadRows& rows) {
        const RowMap map(plan_, rows.sequence, plan_.output, rows.sequence.output, rows.head);
        for (int32_t begin = 0; begin < rows.count; begin += chunk_rows_) {
            const int32_t count = Min(rows.count - begin, chunk_rows_);
            const int32_t buffer = buffers_.FillStore();
            AscendC::Duplicate(buffers_.Store(buffer).template ReinterpretCast<int16_t>(), int16_t(0), count * pitch_);
            StoreOutput(buffer, map, rows.first + begin, count, {0, columns_}, pitch_);
        }
        if (plan_.writes_lse != 0) {
            AscendC::Duplicate(Float(offsetof(UbMemory<Heads>, lse)), FloatFromBits(kPlusInfinityBits), kVectorRows);
            StoreLse(rows);
        }
    }

private:
    __aicore__ inline AscendC::LocalTensor<float> Float(uint32_t byte_offset) { return buffers_.Float(byte_offset); }

    // A sink is one more score of each row, with a value of zeros: it moves the maximum and adds to the sum. The
    // running output still has the old maximum, so it is divided by the new sum as that maximum would make it.
    __aicore__ inline void ApplySink(const HeadRows& rows, const AscendC::LocalTensor<float>& maximum,
                                     const AscendC::LocalTensor<float>& sum,
                                     const AscendC::LocalTensor<float>& divisor) {
        const AscendC::LocalTensor<float> sink = Float(offsetof(UbMemory<Heads>, sink));
        const AscendC::LocalTensor<float> new_max = Float(offsetof(UbMemory<Heads>, lse));
        FillSink(rows, sink);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Max(new_max, maximum, sink, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(divisor, maximum, new_max, kVectorRows);
        AscendC::Sub(sink, sink, new_max, kVectorRows);
        AscendC::Muls(maximum, new_max, 1.0F, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(divisor, divisor, kVectorRows);
        AscendC::Exp(sink, sink, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Mul(sum, sum, divisor, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(sum, sum, sink, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Div(divisor, sum, divisor, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
    }

    // The sink of each row: one instruction for each head that the rows belong to.
    __aicore__ inline void FillSink(const HeadRows& rows, const AscendC::LocalTensor<float>& sink) {
        const int32_t group = int32_t(plan_.group_fold);
        const int64_t head = int64_t(rows.head) * group;
        if (plan_.row_order == RowOrder::kTokenMajor) {
            uint64_t every_group = 0;  // rows 0, group, 2 * group, ...
            for (int32_t row = 0; row < kVectorRows; row += group) {
                every_group |= uint64_t(1) << row;
            }
            for (int32_t row = 0; row < Min(group, kVectorRows); ++row) {
                uint64_t mask[2] = {every_group << row, 0};
                AscendC::Duplicate(sink, Sink(head + (rows.first + row) % group), mask, 1, 1, 8);
            }
            return;
        }
        for (int32_t row = 0; row < rows.count;) {
            const int32_t head_in_group = (rows.first + row) / rows.sequence.query_length;
            const int32_t end = (head_in_group + 1) * rows.sequence.query_length - rows.first;
            const int32_t filled = end < rows.count ? end : kVectorRows;  // lanes past the last row are read as well
            FillColumns(sink, 1, kVectorRows, row, filled, Sink(head + head_in_group));
            row = filled;
        }
    }

    // bfloat16 is the upper half of float. -inf counts as the lowest number, so that there is always a sink.
    __aicore__ inline float Sink(int64_t head) {
        const uint32_t bits = uint32_t(sinks_.GetValue(head)) << 16;
        return FloatFromBits(bits == kMinusInfinityBits ? kLowestSinkBits : bits);
    }

    __aicore__ inline void StoreOutput(int32_t buffer, const RowMap& map, int32_t row, int32_t count,
                                       const ChannelSpan& channels, int32_t pitch) {
        buffers_.StoreIsFilled(buffer);
        StoreRows(output_[channels.begin], map, row, count, buffers_.Store(buffer), pitch,
                  Min(int32_t(plan_.value_head_dim) - channels.begin, channels.count));
        buffers_.StoreIsWritten(buffer);
    }

    // LSE = ln(sum) + maximum, +inf where the row sees no key.
    __aicore__ inline void WriteLse(const HeadRows& rows, const AscendC::LocalTensor<float>& maximum,
                                    const AscendC::LocalTensor<float>& sum) {
        const AscendC::LocalTensor<float> lse = Float(offsetof(UbMemory<Heads>, lse));
        AscendC::Ln(lse, sum, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(lse, lse, maximum, kVectorRows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Select(lse, buffers_.Bytes(offsetof(UbMemory<Heads>, seen)), lse, FloatFromBits(kPlusInfinityBits),
                        AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, uint64_t(kFloatsPerRepeat), 1,
                        AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
        StoreLse(rows);
    }

    __aicore__ inline void StoreLse(const HeadRows& rows) {
        const int32_t buffer = buffers_.FillStore();
        const AscendC::LocalTensor<float> blocks = buffers_.FloatStore(buffer);
        AscendC::PipeBarrier<PIPE_V>();
        BroadcastRows(blocks, Float(offsetof(UbMemory<Heads>, lse)), rows.count);
        buffers_.StoreIsFilled(buffer);
        const RowMap map(plan_, rows.sequence, plan_.lse, rows.sequence.lse, rows.head);
        StoreRowValues(lse_, map, rows.first, rows.count, blocks);
        buffers_.StoreIsWritten(buffer);
    }

    // The sum of a row that sees a key is at least about 1 (its largest score contributes exp(0)), so this only turns
    // 0 / 0 of the other rows into 0.
    static constexpr float kSumFloor = 1.0e-30F;
    static constexpr uint32_t kLowestSinkBits = 0xFF7F0000U;

    VectorBuffers<T, Heads>& buffers_;
    const AttentionPlan& plan_;
    int32_t columns_;
    int32_t pitch_;
    int32_t chunk_rows_;
    AscendC::GlobalTensor<T> output_;
    AscendC::GlobalTensor<float> lse_;
    AscendC::GlobalTensor<uint16_t> sinks_;  // bfloat16, as storage
};

}  // namespace ascend_attention
