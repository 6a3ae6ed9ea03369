// SPDX-License-Identifier: Apache-2.0
// What tiles cost and how they are dealt to the cores. Nothing here holds a list of tiles: a sequence of twenty million
// rows costs as much planning as one of twenty.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/attention_plan.h"

namespace ascend_attention {

// Fixed cost of a tile, in keys: Q and O are moved, and the short key tile at a causal edge is done at less than full
// speed (modelled: 2400 to 4000 cycles, a key takes 14).
constexpr int64_t kTileFixedCost = 2 * kTileRowsMax;
// A tile that is only zeroed.
constexpr int64_t kEmptyTileCost = 16;

// Cost of one tile: its visible keys and the fixed part.
int64_t TileCost(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tile);
// Sum of the first `tiles` tiles of one head. Closed form, not a loop, unless heads are folded into rows.
int64_t TileCostSum(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tiles);

// Contiguous ranges, in the order sequence, head, tile, one per core that has work: every tile in exactly one range.
// The largest cost of a core is as small as contiguous ranges allow, hence never above mean + one tile.
// The caller has made sure that the number of tiles fits in 32 bits.
std::vector<CoreRange> SplitWork(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences, int64_t cores);

}  // namespace ascend_attention
