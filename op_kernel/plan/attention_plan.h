// SPDX-License-Identifier: Apache-2.0
// The plan: all that the host tells the device, as plain data. The host (op_host/plan) writes these structs into one
// byte buffer, the engine (op_kernel/engine) reads them with scalar loads of 64 bits, each core type what it needs:
// nothing else happens before the plan is read. Strides and offsets count elements.
//
// Buffer layout: AttentionPlan | SequencePlan[sequence_count] | CoreRange[core_count].
#pragma once

#include <cstdint>

namespace ascend_attention {

// Engine geometry. 128 rows are eight cube fractals and give each of the two vector cores 64 rows; 128 x 128 16-bit
// values are 32 KiB, half of L0A or L0B, so both can be double-buffered.
constexpr int32_t kTileRowsMax = 128;
constexpr int32_t kTileKeysMax = 512;
constexpr int32_t kHeadDimMax = 256;
constexpr int32_t kCubeStep = 128;
// Row tiles that share one load of K and V. The running outputs of all of them have to fit UB, so heads wider than
// kRowGroupChannels get one.
constexpr int32_t kRowGroupMax = 2;
constexpr int32_t kRowGroupChannels = 128;
// P V follows S this many steps later. Steps in flight between the cube core and its vector cores pass through a ring
// in global memory that stays in L2.
constexpr int32_t kStepsBehind = 2;
constexpr int32_t kRingSlots = kStepsBehind + 1;

constexpr int64_t kScoreSlotBytes = int64_t(kTileRowsMax) * kTileKeysMax * 4;
constexpr int64_t kProbSlotBytes = int64_t(kTileRowsMax) * kTileKeysMax * 2;
constexpr int64_t kPartialSlotBytes = int64_t(kTileRowsMax) * kHeadDimMax * 4;
constexpr int64_t kCoreWorkspaceBytes = kRingSlots * (kScoreSlotBytes + kProbSlotBytes + kPartialSlotBytes);

// Which index runs fastest over the rows of a tile when the heads of a group are folded into rows:
// kHeadMajor: row = head_in_group * query_length + position; kTokenMajor: row = position * group + head_in_group.
enum class RowOrder : uint32_t { kHeadMajor = 0, kTokenMajor = 1 };

// Where element (head, position, channel) of a sequence lies: sequence offset + head * head + position * row + channel.
struct HeadStrides {
    int64_t head;
    int64_t row;
};

struct AttentionPlan {
    uint32_t core_count;      // AI cores that have work; also the launch's block count
    uint32_t sequence_count;  // SequencePlan entries (rows that only have to be zeroed are entries with key_length 0)
    uint32_t head_count;      // heads a sequence is split into: query heads, or KV heads when groups are folded
    uint32_t group_fold;      // query heads folded into the rows of one tile (1 = not folded)
    uint32_t heads_per_key_head;  // key head = head / heads_per_key_head (1 when folded)
    RowOrder row_order;
    uint32_t row_group;       // consecutive row tiles of a head that share loads of K and V, <= kRowGroupMax
    uint32_t head_dim;        // of query and key, multiple of 16, <= kHeadDimMax
    uint32_t value_head_dim;  // of value and output
    uint32_t tile_keys;       // keys of one S tile, <= kTileKeysMax, multiple of 128
    uint32_t has_mask;        // explicit atten_mask, one byte per pair, non-zero = hidden
    uint32_t writes_lse;
    float scale;
    uint32_t unused;                // records are read in words of 64 bits
    int64_t workspace_core_stride;  // bytes between the rings of two cores
    HeadStrides query;
    HeadStrides key;
    HeadStrides value;
    HeadStrides output;
    HeadStrides lse;
    int64_t mask_row;  // elements between two mask rows (query positions)
};

// One sequence of queries against one sequence of keys. A row at query position p sees the keys
// [p + band_low, p + band_high] that are also in [0, key_length). The host clamps the band so that 32-bit sums are
// safe.
struct SequencePlan {
    int32_t query_length;
    int32_t key_length;
    int32_t band_low;
    int32_t band_high;
    int32_t tile_rows;   // rows per tile, multiple of 16, <= kTileRowsMax; the last tile may be shorter
    int32_t tile_count;  // tiles per head: ceil(query_length * group_fold / tile_rows)
    // Element offsets of (head 0, position 0). For the cube cores.
    int64_t query;
    int64_t key;
    int64_t value;
    // For the vector cores.
    int64_t output;
    int64_t lse;
    int64_t mask;
};

// The work of one AI core: `tile_total` consecutive tiles, in the order sequence, head, tile, starting here.
struct CoreRange {
    uint32_t sequence;
    uint32_t head;
    uint32_t tile;
    uint32_t tile_total;
};

static_assert(sizeof(AttentionPlan) == 152, "the plan is read as bytes on the device");
static_assert(sizeof(SequencePlan) == 72, "the plan is read as bytes on the device");
static_assert(sizeof(CoreRange) == 16, "the plan is read as bytes on the device");

}  // namespace ascend_attention
