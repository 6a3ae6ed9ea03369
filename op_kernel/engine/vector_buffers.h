// SPDX-License-Identifier: Apache-2.0
// What a vector core has in UB and who may touch it when. Chunks of S and of P V take turns in the same two buffers.
#pragma once

#include "engine/memory.h"
#include "engine/tile_walk.h"

namespace ascend_attention {

// This core's rows of a step's row tile.
struct VectorRows {
    int32_t first;   // row of the head
    int32_t offset;  // row of the tile
    int32_t count;
};

template <typename T, typename Heads>
class VectorBuffers {
public:
    __aicore__ inline VectorBuffers(AscendC::TPipe& pipe, const AttentionPlan& plan, uint32_t sub_core)
        : sub_core_(sub_core), biased_(plan.has_bias != 0) {
        pipe.InitBuffer(ub_, sizeof(UbMemory<Heads>));
        for (int32_t i = 0; i < kChunkBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kChunk + i);
        }
        for (int32_t i = 0; i < kStoreBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + i);
        }
    }

    // Set and wait must pair: takes back the "free" events.
    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < kChunkBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kChunk + i);
        }
        for (int32_t i = 0; i < kStoreBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + i);
        }
    }

    // A chunk buffer goes MTE2 -> V -> MTE2, in turns. Filling is one turn ahead of using at most.
    __aicore__ inline int32_t FillChunk() {
        const int32_t buffer = fill_turn_;
        fill_turn_ = (fill_turn_ + 1) % kChunkBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kChunk + buffer);
        return buffer;
    }
    __aicore__ inline void ChunkIsFilled(int32_t buffer) {
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(VectorEvent::kChunk + buffer);
    }
    __aicore__ inline int32_t UseChunk() {
        const int32_t buffer = use_turn_;
        use_turn_ = (use_turn_ + 1) % kChunkBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(VectorEvent::kChunk + buffer);
        return buffer;
    }
    __aicore__ inline void ChunkIsUsed(int32_t buffer) {
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(VectorEvent::kChunk + buffer);
    }

    // A store buffer goes V -> MTE3 -> V.
    __aicore__ inline int32_t FillStore() {
        const int32_t buffer = store_turn_;
        store_turn_ = (store_turn_ + 1) % kStoreBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + buffer);
        return buffer;
    }
    __aicore__ inline void StoreIsFilled(int32_t buffer) {
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);
    }
    __aicore__ inline void StoreIsWritten(int32_t buffer) {
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(VectorEvent::kStore + buffer);
    }

    // The two vector cores take the upper and the lower half of a tile's rows, in whole groups of eight.
    __aicore__ inline VectorRows RowsOf(const TileStep& step) const {
        const RowTile& tile = step.Rows();
        const int32_t upper = Min(tile.rows, RoundUp(CeilDiv(tile.rows, 2), kFloatsPerBlock));
        VectorRows rows;
        rows.offset = sub_core_ == 0 ? 0 : upper;
        rows.count = sub_core_ == 0 ? upper : tile.rows - upper;
        rows.first = tile.row_begin + rows.offset;
        return rows;
    }

    __aicore__ inline AscendC::LocalTensor<float> Float(uint32_t byte_offset) {
        return ub_.template Get<float>()[byte_offset / sizeof(float)];
    }
    __aicore__ inline AscendC::LocalTensor<uint8_t> Bytes(uint32_t byte_offset) {
        return ub_.template Get<uint8_t>()[byte_offset];
    }
    __aicore__ inline AscendC::LocalTensor<float> Chunk(int32_t buffer) { return Float(ChunkOffset(buffer)); }
    __aicore__ inline AscendC::LocalTensor<uint8_t> Mask(int32_t buffer) {
        return Bytes(ChunkOffset(buffer) + (biased_ ? uint32_t(offsetof(BiasedChunk<Heads>, mask))
                                                    : uint32_t(offsetof(MaskedChunk<Heads>, mask))));
    }
    __aicore__ inline AscendC::LocalTensor<half> MaskAsHalf(int32_t buffer) {
        const uint32_t offset = biased_ ? uint32_t(offsetof(BiasedChunk<Heads>, mask_as_half))
                                        : uint32_t(offsetof(MaskedChunk<Heads>, mask_as_half));
        return Bytes(ChunkOffset(buffer) + offset).template ReinterpretCast<half>();
    }
    __aicore__ inline AscendC::LocalTensor<uint8_t> MaskBits(int32_t buffer) {
        return Bytes(ChunkOffset(buffer) + (biased_ ? uint32_t(offsetof(BiasedChunk<Heads>, mask_bits))
                                                    : uint32_t(offsetof(MaskedChunk<Heads>, mask_bits))));
    }
    __aicore__ inline AscendC::LocalTensor<T> Bias(int32_t buffer) {
        return ub_.template Get<T>()[(ChunkOffset(buffer) + offsetof(BiasedChunk<Heads>, bias)) / sizeof(T)];
    }
    __aicore__ inline AscendC::LocalTensor<float> BiasAsFloat(int32_t buffer) {
        return Float(ChunkOffset(buffer) + offsetof(BiasedChunk<Heads>, bias_as_float));
    }
    __aicore__ inline AscendC::LocalTensor<T> Store(int32_t buffer) {
        return ub_.template Get<T>()[StoreOffset(buffer) / sizeof(T)];
    }
    __aicore__ inline AscendC::LocalTensor<float> FloatStore(int32_t buffer) { return Float(StoreOffset(buffer)); }
    __aicore__ inline AscendC::LocalTensor<float> Accumulators() {
        return Float(offsetof(UbMemory<Heads>, accumulator));
    }
    // The running output of a step's row tile, rows `pitch` floats apart.
    __aicore__ inline AscendC::LocalTensor<float> Accumulator(const TileStep& step, int32_t pitch) {
        return Accumulators()[step.r * kVectorRows * pitch];
    }
    __aicore__ inline AscendC::LocalTensor<float> Scratch() { return Float(offsetof(UbMemory<Heads>, scratch)); }
    __aicore__ inline AscendC::LocalTensor<float> Broadcast() { return Float(offsetof(UbMemory<Heads>, broadcast)); }
    __aicore__ inline AscendC::LocalTensor<float> RunningMax(const TileStep& step) {
        return RunningMax(step.Rows().number);
    }
    __aicore__ inline AscendC::LocalTensor<float> RunningSum(const TileStep& step) {
        return RunningSum(step.Rows().number);
    }
    // The same, by the running number of the row tile.
    __aicore__ inline AscendC::LocalTensor<float> RunningMax(uint32_t number) {
        return Float(offsetof(UbMemory<Heads>, running_max))[StateOf(number)];
    }
    __aicore__ inline AscendC::LocalTensor<float> RunningSum(uint32_t number) {
        return Float(offsetof(UbMemory<Heads>, running_sum))[StateOf(number)];
    }
    __aicore__ inline AscendC::LocalTensor<float> Correction(const TileStep& step) {
        const int32_t turn = int32_t(step.step % (Heads::kStepsBehind + 1));
        return Float(offsetof(UbMemory<Heads>, correction))[turn * kVectorRows];
    }

private:
    __aicore__ inline static uint32_t ChunkOffset(int32_t buffer) {
        return uint32_t(offsetof(UbMemory<Heads>, chunk) + sizeof(UbMemory<Heads>::chunk[0]) * buffer);
    }
    __aicore__ inline static uint32_t StoreOffset(int32_t buffer) {
        return uint32_t(offsetof(UbMemory<Heads>, store) + sizeof(UbMemory<Heads>::store[0]) * buffer);
    }
    __aicore__ inline static int32_t StateOf(uint32_t number) {
        return int32_t(number % UbMemory<Heads>::kRowStates) * kVectorRows;
    }

    uint32_t sub_core_;
    bool biased_;
    int32_t fill_turn_ = 0;
    int32_t use_turn_ = 0;
    int32_t store_turn_ = 0;
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub_;
};

// Rows of `pitch` elements that a chunk of `elements` holds, in whole groups of eight.
template <typename Heads>
__aicore__ inline int32_t ChunkRows(int32_t elements, int32_t pitch) {
    return Min(UbMemory<Heads>::kChunkRowsMax, elements / pitch / kFloatsPerBlock * kFloatsPerBlock);
}

}  // namespace ascend_attention
