// SPDX-License-Identifier: Apache-2.0
// The two geometries of the engine: heads of up to 256 channels, and wide ones (512, and the 512 + 64 of latent
// attention), whose running output alone is twice L0C. Host and device size the same workspace with them.
#pragma once

#include <cstdint>

namespace ascend_attention {

// Both cut products into 128 x 128 x 128: 128 rows are eight cube fractals and give each of the two vector cores 64
// rows; 128 x 128 16-bit values are 32 KiB, half of L0A or L0B, so both can be double-buffered.
constexpr int32_t kTileRowsMax = 128;
constexpr int32_t kTileKeysMax = 512;
constexpr int32_t kCubeStep = 128;
constexpr uint32_t kVectorsPerCube = 2;  // of a mix kernel
// Row tiles that share one load of K and V. The running outputs of all of them have to fit UB, so heads wider than
// kRowGroupChannels get one.
constexpr int32_t kRowGroupMax = 2;
constexpr int32_t kRowGroupChannels = 128;

// Costs of row tiles are counted in keys: what it takes to go on by one key with the rows of a tile. Beside its keys a
// tile has a fixed cost: Q and O are moved, and the short key tile at a causal edge is done at less than full speed
// (modelled: 2400 to 4000 cycles, a key takes 14). The second part of a tile pays it again.
constexpr int64_t kTileFixedCost = 2 * kTileRowsMax;
// With wide heads a key takes 34 cycles.
constexpr int64_t kWideTileFixedCost = kTileRowsMax;
// A tile that is only zeroed.
constexpr int64_t kEmptyTileCost = 16;

// Maxima and sums of the rows of a part, see CombineTask.
constexpr int64_t kPartValueBytes = 2 * kTileRowsMax * 4;

// P V follows S `steps_behind` steps later. Steps in flight between the cube core and its vector cores pass through a
// ring in global memory that stays in L2. `chunk` is the number of scores that a vector core works on at a time, in
// whole groups of eight rows; an explicit mask or a bias takes part of its buffer, so key tiles are shorter with them.
template <int32_t head_dim_max, int32_t value_dim_max, int32_t row_group_max, int32_t steps_behind, int32_t chunk,
          int32_t score_slots, int32_t score_slot_keys, int32_t prob_slots, int32_t partial_slots,
          int32_t partial_columns, int32_t partial_pitch_step>
struct HeadGeometry {
    static constexpr int32_t kHeadDimMax = head_dim_max;    // of query and key, rope included
    static constexpr int32_t kValueDimMax = value_dim_max;  // of value and output
    static constexpr int32_t kRowGroup = row_group_max;     // most row tiles of a group
    static constexpr int32_t kStepsBehind = steps_behind;
    static constexpr int32_t kScoreSlots = score_slots;
    static constexpr int32_t kScoreSlotKeys = score_slot_keys;
    static constexpr int32_t kScoreSlotsOfStep = kTileKeysMax / score_slot_keys;
    static constexpr int32_t kProbSlots = prob_slots;
    // Whether P of a row replaces the scores of the row in the first slot of the step.
    static constexpr bool kProbsInScores = prob_slots == 0;
    static constexpr int32_t kPartialSlots = partial_slots;
    // Whether P V of a step replaces scores of the step.
    static constexpr bool kPartialInScores = partial_slots == 0;
    static constexpr int32_t kPartialColumns = partial_columns;       // P V comes in passes of so many channels
    static constexpr int32_t kPartialPitchStep = partial_pitch_step;  // whose rows are a multiple of this apart
    static constexpr int32_t kChunk = chunk;
    static constexpr int32_t kChunkWithMask = chunk / 2;
    static constexpr int32_t kChunkWithBias = chunk / 4;  // with or without a mask
    // Limits of a plan's tile_keys, which is never above kTileKeysMax.
    static constexpr int32_t kTileKeysWithMask = kChunkWithMask / 8;
    static constexpr int32_t kTileKeysWithBias = kChunkWithBias / 8;
    static constexpr int64_t kScoreSlotBytes = int64_t(kTileRowsMax) * score_slot_keys * 4;
    static constexpr int64_t kProbSlotBytes = int64_t(kTileRowsMax) * kTileKeysMax * 2;
    static constexpr int64_t kPartialSlotBytes = int64_t(kTileRowsMax) * partial_columns * 4;
    static constexpr int64_t kCoreWorkspaceBytes = (kPartialInScores ? kPartValueBytes : 0) +
                                                   kScoreSlots * kScoreSlotBytes + kProbSlots * kProbSlotBytes +
                                                   kPartialSlots * kPartialSlotBytes;
};
using NarrowHeads = HeadGeometry<256, 256, kRowGroupMax, 2, 8192, 3, kTileKeysMax, 3, 3, 256, kCubeStep>;
using WideHeads = HeadGeometry<576, 512, 1, 1, 4096, 3, kTileKeysMax / 2, 0, 0, 256, 256>;

// Most parts that a row tile is split into: the combine stage has their maxima and sums in one chunk buffer.
constexpr int32_t kPartsMax = 32;

}  // namespace ascend_attention
