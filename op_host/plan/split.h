// SPDX-License-Identifier: Apache-2.0
// What tiles cost and how they are dealt to the cores. Nothing here holds a list of tiles: a sequence of twenty million
// rows costs as much planning as one of twenty.
#pragma once

#include <cstdint>
#include <vector>

#include "common/span.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

constexpr int64_t TileFixedCost(const AttentionPlan& plan) {
    return IsWide(plan) ? kWideTileFixedCost : kTileFixedCost;
}

constexpr bool OnlyZeroed(const SequencePlan& sequence) {
    return sequence.key_length == 0 || sequence.band_low > sequence.band_high;
}
// Every row sees every key.
constexpr bool SeesAll(const SequencePlan& sequence) {
    return sequence.band_low <= 1 - sequence.query_length && sequence.band_high >= sequence.key_length - 1;
}

// Cost of one tile: its visible keys and the fixed part.
int64_t TileCost(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tile);
// Sum of the first `tiles` tiles of one head of a sequence whose rows see some keys each.
int64_t BandCostSum(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tiles);
// Of any sequence. Closed form, not a loop, but for groups of heads that are folded head by head.
inline int64_t TileCostSum(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tiles) {
    if (OnlyZeroed(sequence)) {
        return tiles * kEmptyTileCost;
    }
    return SeesAll(sequence) ? tiles * (TileFixedCost(plan) + sequence.key_length) : BandCostSum(plan, sequence, tiles);
}

// Contiguous ranges, in the order sequence, head, tile, one per core that has work: every key of every tile in exactly
// one range.
struct Split {
    std::vector<CoreRange> cores;
    std::vector<CombineTask> combine;
    uint32_t dealt = 0;      // the first ones of `combine`, which all cores merge together at the end
    int64_t busiest = 0;     // the largest cost of a core
    int64_t first_cost = 0;  // the largest cost of the rest of a tile that a core begins with and goes on behind
    // Of each core: its keys behind such a rest (no more than there are); INT64_MAX where there is none.
    std::vector<int64_t> keys_after;
    int64_t mean = 0;  // what each core would have if tiles could be divided at will
};

// The caller has made sure that the number of tiles fits in 32 bits.

// Whole tiles only. The largest cost of a core is the smallest that contiguous ranges allow, hence never above mean +
// one tile. (Stopping the search at a mean's 128th left the busiest core of a ragged batch 4 % busier.)
Split SplitTiles(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t cores);
// Tiles may be cut, every CutStep(plan) keys. No core costs more than the mean, two fixed costs and such a step.
Split SplitKeys(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t cores);
// Which cut tiles of two parts are merged on the way, by the core that they begin on: where the second part is the
// first thing that the other core does. Since a core waits for the first parts of all, none may come late, and its own
// has to have been stored by then. All other tasks come first in the plan.
void ChooseMergers(const AttentionPlan& plan, Split* split);

// Searching longer for a better cut than this part of the mean is not worth it: the search is the host's work.
constexpr int64_t kSplitPrecision = 128;  // one part in

}  // namespace ascend_attention
