// SPDX-License-Identifier: Apache-2.0
// One struct per memory: offsets come from the compiler, one assertion bounds each size. Element types are spelled as
// storage (16-bit values as uint16_t); a view of the right type is taken where a buffer is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/arithmetic.h"
#include "engine/flags.h"
#include "engine/tile_walk.h"

namespace ascend_attention {

constexpr int32_t kOperandElements = kCubeStep * kCubeStep;
constexpr int32_t kGranuleElements = 2 * kOperandElements;  // of K or V: two pieces of 128 keys of 128 channels
// Query tiles: those of two groups, so that the next group's can be fetched while this one's are in use.
constexpr int32_t kQueryElements = 2 * kRowGroupMax * kTileRowsMax * kRowGroupChannels;

struct L1Memory {
    uint16_t query[kQueryElements];
    uint16_t keys[kGranuleBuffers][kGranuleElements];
    uint16_t values[kGranuleBuffers][kGranuleElements];
    uint16_t probs[kProbBuffers][kOperandElements];
};
// 512 KiB less the 256 bytes that mix kernels reserve.
static_assert(sizeof(L1Memory) <= 512 * 1024 - 256, "L1");
static_assert(kQueryElements >= 2 * kTileRowsMax * NarrowHeads::kHeadDimMax, "two query tiles of the widest heads");
// All row tiles of a group take a key tile before the next one comes.
static_assert(kTileKeysMax * kRowGroupChannels <= kGranuleBuffers * kGranuleElements, "a group's key tile fits L1");

struct L0AMemory {
    uint16_t left[kL0Buffers][kOperandElements];
};
static_assert(sizeof(L0AMemory) <= 64 * 1024, "L0A");

struct L0BMemory {
    uint16_t right[kL0Buffers][kOperandElements];
};
static_assert(sizeof(L0BMemory) <= 64 * 1024, "L0B");

struct L0CMemory {
    float product[kAccumulatorBuffers][kTileRowsMax * kCubeStep];
};
static_assert(sizeof(L0CMemory) <= 128 * 1024, "L0C");

constexpr int32_t kVectorRows = kTileRowsMax / 2;  // rows of a tile on one vector core

// What a vector core works on at a time. Beside the scores of a chunk its buffer holds what they are masked and biased
// with.
template <typename Heads>
struct MaskedChunk {
    float scores[Heads::kChunkWithMask];
    uint8_t mask[Heads::kChunkWithMask];
    uint16_t mask_as_half[Heads::kChunkWithMask];
    uint8_t mask_bits[Heads::kChunkWithMask / 8];
};
template <typename Heads>
struct BiasedChunk {
    float scores[Heads::kChunkWithBias];
    uint16_t bias[Heads::kChunkWithBias];
    uint8_t mask[Heads::kChunkWithBias];
    union {  // the bias is added before the mask is applied
        float bias_as_float[Heads::kChunkWithBias];
        uint16_t mask_as_half[Heads::kChunkWithBias];
    };
    uint8_t mask_bits[Heads::kChunkWithBias / 8];
};

// The vector unit's memory, and the sizes that go with a geometry. Values of one row each are arrays of kVectorRows.
template <typename Heads>
struct UbMemory {
    // Rows of a chunk with few columns. With wide heads there is no room for the reductions of more.
    static constexpr int32_t kChunkRowsMax = Heads::kRowGroup == 1 ? 16 : kVectorRows;
    // Strips of P are one block further apart than their rows need, so that the eight blocks of a repeat go to
    // different bank groups. (With wide heads P is stored in rows.)
    static constexpr int32_t kStoreElements = Heads::kChunk + (Heads::kProbsInScores ? 0 : kTileKeysMax);
    // Row tiles whose running maximum and sum are alive: those of a group, and of the steps whose P V is still to come.
    static constexpr int32_t kRowStates = Heads::kRowGroup + Heads::kStepsBehind;
    static_assert((kRowStates & (kRowStates - 1)) == 0, "the slot is a running number modulo a power of two");

    union {
        float scores[Heads::kChunk];  // of S, or of P V
        MaskedChunk<Heads> masked;
        BiasedChunk<Heads> biased;
    } chunk[kChunkBuffers];
    uint16_t store[kStoreBuffers][kStoreElements];         // P on its way to the cube core, output rows, LSE
    float accumulator[kVectorRows * Heads::kValueDimMax];  // O of the current rows, before normalisation
    float scratch[Heads::kChunk / kFloatsPerBlock + kChunkRowsMax * kFloatsPerBlock];  // row reductions
    float broadcast[kChunkRowsMax * kFloatsPerBlock];                                  // one 32-byte block per row
    float running_max[kRowStates][kVectorRows];
    float running_sum[kRowStates][kVectorRows];
    float correction[Heads::kStepsBehind + 1][kVectorRows];  // exp(old maximum - new maximum), by step
    // Of a row tile to which the part of another core is added: what its own rows count, and those of the part.
    float own_weight[kVectorRows];
    float part_weight[kVectorRows];
    // Of the chunk that the softmax is at; of finished rows.
    union {
        float new_max[kVectorRows];
        float lse[kVectorRows];
    };
    union {
        float row_max[kVectorRows];
        float sink[kVectorRows];
    };
    float row_sum[kVectorRows];
    // Of finished rows, from the first channels that are written to the last.
    float divisor[kVectorRows];
    uint8_t seen[kVectorRows];  // which of them see a key, as bits

    static_assert(sizeof(chunk) == kChunkBuffers * Heads::kChunk * sizeof(float), "mask and bias fit the buffer");
    static_assert(kVectorRows * kFloatsPerBlock * sizeof(float) <= sizeof(store[0]), "LSE blocks fit a store buffer");
};
static_assert(kRowGroupMax * kRowGroupChannels <= NarrowHeads::kValueDimMax, "the output of a group of row tiles");
static_assert(sizeof(float) * 2 * kPartsMax * kVectorRows <= sizeof(float) * WideHeads::kChunk,
              "maxima and sums of all parts of a row tile fit a chunk");
// 192 KiB less 256 reserved bytes, less 8 KiB that Select and the toolchain take.
static_assert(sizeof(UbMemory<NarrowHeads>) <= 184 * 1024 - 256, "UB");
static_assert(sizeof(UbMemory<WideHeads>) <= 184 * 1024 - 256, "UB, wide heads");

template <typename Heads>
struct CoreWorkspace {
    uint8_t scores[Heads::kScoreSlots][Heads::kScoreSlotBytes];
    uint8_t probs[Heads::kProbSlots][Heads::kProbSlotBytes];
    uint8_t partial[Heads::kPartialSlots][Heads::kPartialSlotBytes];
};
// P of a row takes the place of its first scores, P V that of the last ones.
template <>
struct CoreWorkspace<WideHeads> {
    uint8_t part_values[kPartValueBytes];
    uint8_t scores[WideHeads::kScoreSlots][WideHeads::kScoreSlotBytes];
};
static_assert(WideHeads::kPartialSlotBytes == WideHeads::kScoreSlotBytes, "P V takes a slot of scores");

// Where the scores of a step begin, in bytes; `part` counts its slots.
template <typename Heads>
__aicore__ inline int64_t ScoreSlot(uint32_t step, int32_t part) {
    return int64_t((step * uint32_t(Heads::kScoreSlotsOfStep) + uint32_t(part)) % uint32_t(Heads::kScoreSlots)) *
           Heads::kScoreSlotBytes;
}
// Where P V of a step begins, in bytes from PartialBegin. With wide heads that is the second slot of the step's scores,
// for one pass after the other, when it has been read. The last step of a core has room for the second pass beside the
// first one: the slot that its part takes, or, with the first pass there, the last one.
template <typename Heads>
__aicore__ inline int64_t PartialSlot(const TileStep& step, int32_t pass) {
    if constexpr (Heads::kPartialInScores) {
        const int64_t first = ScoreSlot<Heads>(step.step, 1);
        if (pass == 0 || !step.tile.ends) {
            return first;
        }
        return (first == Heads::kScoreSlotBytes ? 2 : 1) * Heads::kScoreSlotBytes;
    } else {
        return int64_t(step.step % Heads::kPartialSlots) * Heads::kPartialSlotBytes;
    }
}
template <typename Heads>
constexpr uint32_t PartialBegin() {
    if constexpr (Heads::kPartialInScores) {
        return offsetof(CoreWorkspace<Heads>, scores);
    } else {
        return offsetof(CoreWorkspace<Heads>, partial);
    }
}
// From row to row, in floats.
template <typename Heads>
__aicore__ inline int32_t ScorePitch(const AttentionPlan& plan) {
    return Min(int32_t(plan.tile_keys), Heads::kScoreSlotKeys);
}
static_assert(sizeof(CoreWorkspace<NarrowHeads>) == NarrowHeads::kCoreWorkspaceBytes, "workspace of one core");
static_assert(sizeof(CoreWorkspace<WideHeads>) == WideHeads::kCoreWorkspaceBytes, "workspace of one core");

}  // namespace ascend_attention
