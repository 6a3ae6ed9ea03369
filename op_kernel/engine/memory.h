// SPDX-License-Identifier: Apache-2.0
// One struct per memory: offsets come from the compiler, one assertion bounds each size. Element types are spelled as
// storage (16-bit values as uint16_t); a view of the right type is taken where a buffer is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/arithmetic.h"
#include "engine/flags.h"
#include "plan/attention_plan.h"

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
constexpr int32_t kChunkElements = 8192;           // a chunk of rows that the vector unit works on at a time
// With an explicit mask a chunk is half as large and its buffer holds the mask as well.
constexpr int32_t kMaskedChunkElements = 4096;
// Strips of P are one block further apart than their rows need, so that the eight blocks of a repeat go to different
// bank groups.
constexpr int32_t kStoreElements = kChunkElements + kTileKeysMax;
// Row tiles whose running maximum and sum are alive: those of a group, and of the steps whose P V is still to come.
constexpr int32_t kRowStates = kRowGroupMax + NarrowHeads::kStepsBehind;
static_assert((kRowStates & (kRowStates - 1)) == 0, "the slot is a running number modulo a power of two");

struct MaskedChunk {
    float scores[kMaskedChunkElements];
    uint8_t mask[kMaskedChunkElements];
    uint16_t mask_as_half[kMaskedChunkElements];
    uint8_t mask_bits[kMaskedChunkElements / 8];
};

template <typename Heads>
struct UbMemory;

template <>
struct UbMemory<NarrowHeads> {
    union {
        float scores[kChunkElements];  // of S, or of P V
        MaskedChunk masked;
    } chunk[kChunkBuffers];
    uint16_t store[kStoreBuffers][kStoreElements];                      // P on its way to the cube core, or output rows
    float accumulator[kRowGroupMax * kVectorRows * kRowGroupChannels];  // O of the current rows, before normalisation
    float scratch[kChunkElements / kFloatsPerBlock + kVectorRows * kFloatsPerBlock];  // row reductions
    float broadcast[kVectorRows * kFloatsPerBlock];                                   // one 32-byte block per row
    float lse_blocks[kVectorRows * kFloatsPerBlock];
    float lse[kVectorRows];
    uint8_t seen[kVectorRows];  // which rows see a key, as bits
    float running_max[kRowStates][kVectorRows];
    float running_sum[kRowStates][kVectorRows];
    float correction[NarrowHeads::kRingSlots][kVectorRows];  // exp(old maximum - new maximum), by step
    float new_max[kVectorRows];
    float row_max[kVectorRows];
    float floored_sum[kVectorRows];
    float row_sum[kVectorRows];
};
static_assert(sizeof(MaskedChunk) <= kChunkElements * sizeof(float), "a masked chunk fits its buffer");
static_assert(kRowGroupMax * kRowGroupChannels >= NarrowHeads::kHeadDimMax,
              "the output of one row tile of the widest heads");
// 192 KiB less 256 reserved bytes, less 8 KiB that Select and the toolchain take.
static_assert(sizeof(UbMemory<NarrowHeads>) <= 184 * 1024 - 256, "UB");

template <typename Heads>
struct CoreWorkspace {
    uint8_t scores[Heads::kRingSlots][Heads::kScoreSlotBytes];
    uint8_t probs[Heads::kRingSlots][Heads::kProbSlotBytes];
    uint8_t partial[Heads::kRingSlots][Heads::kPartialSlotBytes];
};
static_assert(sizeof(CoreWorkspace<NarrowHeads>) == NarrowHeads::kCoreWorkspaceBytes, "workspace of one core");
static_assert(sizeof(CoreWorkspace<WideHeads>) == WideHeads::kCoreWorkspaceBytes, "workspace of one core");

}  // namespace ascend_attention
