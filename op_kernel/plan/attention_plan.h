// SPDX-License-Identifier: Apache-2.0
// The plan: all that the host tells the device, as plain data. The host (op_host/plan) writes these structs into one
// byte buffer, the engine (op_kernel/engine) reads them with scalar loads of 64 bits, each core type what it needs of
// this request: nothing else happens before the plan is read. Strides and offsets count elements.
//
// Buffer layout: AttentionPlan | SequencePlan[sequence_count] | CoreRange[core_count] | CombineTask[combine_count].
#pragma once

#include <cstdint>

#include "plan/geometry.h"

namespace ascend_attention {

// Which index runs fastest over the rows of a tile when the heads of a group are folded into rows:
// kHeadMajor: row = head_in_group * query_length + position; kTokenMajor: row = position * group + head_in_group.
enum class RowOrder : uint32_t { kHeadMajor = 0, kTokenMajor = 1 };

// Where element (head, position, channel) of a sequence lies: sequence offset + head * head + position * row + channel.
struct HeadStrides {
    int64_t head;
    int64_t row;
};

// Where the keys of a sequence lie. Key position p, channel c of a key head:
// kDense:     sequence.key + head * key.head + p * key.row + c.
// kPagedRows: the same inside a block: id * key_block + head * key.head + (p % block_size) * key.row + c, where id is
//             entry sequence.key + p / block_size of block_table. Entries past the last key are never read.
// kPagedNz:   inside a block strips of 16 channels, each all block_size positions one below the other:
//             id * key_block + head * key.head + (c / 16) * 16 * block_size + (p % block_size) * 16 + c % 16.
// kList:      the arguments key and value are lists of addresses, one for each sequence and key head: position p of
//             entry sequence.key_list + head starts at that address + p * key.row (key_rope is never a list, but
//             dense).
// kSelected:  rows of queries see only some blocks of block_size keys, which a map in device memory names: see
//             SelectedKeys. Position p counts the keys that are seen, id is the number of its block: sequence.key +
//             id * key_block + head * key.head + (p % block_size) * key.row + c.
// The same for values and for the rope part of keys, with their own strides.
enum class KeyPlacement : uint32_t { kDense = 0, kPagedRows = 1, kPagedNz = 2, kList = 3, kSelected = 4 };

// Selected keys. The map (the argument block_table, one byte for each block, non-zero: seen) has a row for each
// sequence, head and block of SequencePlan::block_rows query rows. It is known on the device only: a pre-pass of the
// launch turns every row into a key list in the workspace and counts what it selects, and each core finds its share of
// the row tiles by these counts. Lists are numbered in the order sequence, head, block of rows. In the workspace, from
// workspace_lists:
//   uint64_t bits[list_count][list_words]   bit i: block i of the sequence is seen
//   int32_t keys[list_count, made even]     how many keys are seen; kSameList where the list is the one before it
//   uint64_t costs[vector cores]            of the row tiles of the lists that each vector core has made
struct SelectedKeys {
    HeadStrides map;          // bytes from head to head, and from row to row
    int64_t workspace_lists;  // bytes from the start of the workspace
    uint32_t list_count;
    uint32_t list_words;  // even
};
constexpr int32_t kWordBits = 64;
constexpr int32_t kListStep = 128;  // the bits of a list are whole comparisons of half
// Bytes from the bits of the first list to what follows them.
constexpr uint64_t ListKeysBegin(uint64_t count, uint64_t words) { return count * words * sizeof(uint64_t); }
constexpr uint64_t ListCostsBegin(uint64_t count, uint64_t words) {
    return ListKeysBegin(count, words) + (count + 1) / 2 * sizeof(uint64_t);
}
constexpr int32_t kSameList = int32_t(1) << 30;  // only set where the pair of row tiles that share loads needs it

struct AttentionPlan {
    uint32_t core_count;      // AI cores that have work; also the launch's block count
    uint32_t sequence_count;  // SequencePlan entries (rows that only have to be zeroed are entries with key_length 0)
    uint32_t heads_apart;     // each core has work of one head, and goes through that head's sequences
    uint32_t head_count;      // heads a sequence is split into: query heads, or KV heads when groups are folded
    uint32_t group_fold;      // query heads folded into the rows of one tile (1 = not folded)
    uint32_t heads_per_key_head;  // key head = head / heads_per_key_head (1 when folded)
    RowOrder row_order;
    uint32_t row_group;       // consecutive row tiles of a head that share loads of K and V, <= kRowGroupMax
    uint32_t head_dim;        // of query and key, both parts together, see HeadGeometry
    uint32_t rope_dim;        // the last channels of head_dim lie in query_rope and key_rope; 0: none do. Where there
                              // are some, both parts are multiples of 16
    uint32_t value_head_dim;  // of value and output
    uint32_t tile_keys;       // keys of one S tile, <= kTileKeysMax, multiple of 128
    KeyPlacement key_placement;
    uint32_t block_size;  // keys of a block: of a paged cache, multiple of 16; of selected keys, multiple of 128
    int64_t workspace_core_stride;  // bytes between the rings of two cores
    // For the cube cores.
    HeadStrides query;
    HeadStrides key;
    HeadStrides value;
    HeadStrides query_rope;  // these three where rope_dim is not 0
    HeadStrides key_rope;
    int64_t key_rope_block;
    int64_t key_block;  // elements from one block to the next
    int64_t value_block;
    // For the vector cores.
    uint32_t has_mask;  // explicit atten_mask, one byte per pair, non-zero = hidden
    uint32_t has_bias;  // pse_shift, in the dtype of query: added to the scaled scores
    uint32_t has_sink;  // learnable_sink, bfloat16, one per query head
    uint32_t writes_lse;
    float scale;
    uint16_t combine_count;   // CombineTask entries: row tiles whose keys are split between cores
    uint16_t dealt_count;     // of these the first ones, whose rows all vector cores deal among themselves
    int64_t workspace_parts;  // bytes from the start of the workspace to the partial results in slots kHeadSlot
    HeadStrides output;
    HeadStrides lse;
    HeadStrides bias;
    int64_t mask_row;       // elements between two mask rows (query positions)
    SelectedKeys selected;  // only where key_placement says so
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
    int64_t key;  // paged: entry of block_table with the first block of the sequence, for K, its rope part and V
    int64_t value;
    int64_t query_rope;  // these two where rope_dim is not 0
    int64_t key_rope;
    int64_t key_list;  // entry of a list of tensors, of key head 0
    // For the vector cores.
    int64_t output;
    int64_t lse;
    int64_t mask;
    int64_t bias;
    // Where keys are selected.
    int64_t map;          // byte offset of the row of (head 0, block 0)
    uint32_t first_list;  // running number of its first key list
    uint32_t first_tile;  // running number of its first row tile
    int32_t block_rows;   // query rows that share a list; row tiles begin anew with each such block
    uint32_t unused;
};

// The work of one AI core: `tile_total` consecutive tiles, in the order sequence, head, tile (with heads_apart head,
// sequence, tile), starting here. Of the
// first tile only the keys from key_begin on, of the last one only those before key_end: a cut lies a whole number of
// CutStep keys behind the first key that the row tile sees. Tiles are only cut when row_group is 1. Where keys are
// selected the ranges in the plan are empty: the device finds them.
struct CoreRange {
    uint32_t sequence;
    uint32_t head : 31;
    uint32_t merges : 1;  // the part that the next core leaves in its slot kHeadSlot is added to the last tile
    uint32_t tile;
    uint32_t tile_total;
    int32_t key_begin;  // 0: the first tile begins here
    int32_t key_end;    // kWholeTile: the last tile ends here
};
constexpr int32_t kWholeTile = INT32_MAX;

// Whether the schedule of wide heads computes the plan.
constexpr bool IsWide(const AttentionPlan& plan) {
    return plan.head_dim > uint32_t(NarrowHeads::kHeadDimMax) ||
           plan.value_head_dim > uint32_t(NarrowHeads::kValueDimMax);
}
// Cuts lie between key tiles, so that these are the same on any number of cores. With wide heads key tiles are so long
// that cores would be uneven, and a cut goes through one: P V of its two halves is then rounded differently.
constexpr uint32_t CutStep(const AttentionPlan& plan) { return IsWide(plan) ? uint32_t(kCubeStep) : plan.tile_keys; }

// A row tile whose keys are split between the cores first_core to first_core + part_count - 1. Each leaves a partial
// result in the workspace: in its slot kTailSlot if the tile is its last one, else in its slot kHeadSlot. (A core can
// leave two: of the tile that it begins with and of the one that it ends with.)
//
// Where there are two parts and the second one is in a head slot, so that it is there long before the end, the first
// core may add it to its own on the way, and leaves nothing.
struct CombineTask {
    uint32_t sequence;
    uint32_t head;
    uint32_t tile;
    uint32_t first_core;
    uint32_t part_count;
    int32_t last_slot;  // of the last part; all others are in tail slots, since the tile goes on on the next core
};
// The slot kTailSlot is the begin of the core's ring, of which little is in use when its last row tile ends: its lines
// are in L2, and cost HBM nothing more. The slots kHeadSlot of all cores begin at workspace_parts.
constexpr int32_t kHeadSlot = 0;
constexpr int32_t kTailSlot = 1;

// A partial result: the maxima of the rows of a tile, the sums of exp(score - maximum), then for each row the sum of
// exp(score - maximum) * value over its keys, float32. The first two arrays have kTileRowsMax elements. Of the third
// one up to kPartPassColumns channels of all kTileRowsMax rows follow each other, then the next ones, as P V comes. Of
// wide heads rows are as far apart as those of P V, whose place they take: no row comes to where another row was.
constexpr int64_t kPartPassColumns = 256;
constexpr int64_t PartColumns(int64_t value_head_dim, bool wide) {
    const int64_t step = wide ? kPartPassColumns : 16;
    return (value_head_dim + step - 1) / step * step;
}
constexpr int64_t PartSlotBytes(int64_t value_head_dim, bool wide) {
    return kPartValueBytes + kTileRowsMax * PartColumns(value_head_dim, wide) * 4;
}

static_assert(NarrowHeads::kPartialColumns == kPartPassColumns && WideHeads::kPartialColumns == kPartPassColumns,
              "parts lie as they come");
static_assert(PartSlotBytes(NarrowHeads::kValueDimMax, false) <= NarrowHeads::kCoreWorkspaceBytes, "a part in a ring");
static_assert(PartSlotBytes(WideHeads::kValueDimMax, true) <= WideHeads::kCoreWorkspaceBytes, "a part in a ring");

static_assert(sizeof(AttentionPlan) == 288, "the plan is read as bytes on the device");
static_assert(sizeof(SequencePlan) == 128, "the plan is read as bytes on the device");
static_assert(sizeof(CoreRange) == 24, "the plan is read as bytes on the device");
static_assert(sizeof(CombineTask) == 24, "the plan is read as bytes on the device");

}  // namespace ascend_attention
