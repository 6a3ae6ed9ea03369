// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/integers.h"
#include "plan/split.h"
#include "plan/visible_keys.h"

namespace ascend_attention {
namespace {

// Sum of (first + i * step) / divisor, rounded down, for i in [0, count). first >= 0, step >= 0.
int64_t FloorSum(int64_t count, int64_t first, int64_t step, int64_t divisor) {
    int64_t sum = 0;
    while (count > 0) {
        sum += step / divisor * (count * (count - 1) / 2) + first / divisor * count;
        step %= divisor;
        first %= divisor;
        // What is left counts points below a line with a slope under one: count them along the other axis.
        const int64_t top = step * count + first;
        count = top / divisor;
        first = top % divisor;
        std::swap(step, divisor);
    }
    return sum;
}

// Tile i of `count` begins `step` rows behind the one before it; `fold` rows are one position.
struct TileRows {
    int64_t count;
    int64_t step;
    int64_t fold;

    // The first tile whose row `row` has at least this position.
    int64_t FirstAt(int64_t row, int64_t position) const {
        const int64_t distance = position * fold - row;
        return distance <= 0 ? 0 : std::min(count, CeilDiv(distance, step));
    }
    // Sum over all tiles of clamp(position of its row `row` + shift, 0, limit).
    int64_t SumClamped(int64_t row, int64_t shift, int64_t limit) const {
        const int64_t rising = FirstAt(row, 1 - shift);
        const int64_t full = std::max(rising, FirstAt(row, limit - shift));
        return FloorSum(full - rising, row + rising * step, step, fold) + (full - rising) * shift +
               (count - full) * limit;
    }
};

}  // namespace

int64_t TileCost(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tile) {
    if (OnlyZeroed(sequence)) {
        return kEmptyTileCost;
    }
    const int32_t rows = RowsOfTile(sequence, plan.group_fold, int32_t(tile));
    const KeySpan keys =
        VisibleKeys(sequence, plan.group_fold, plan.row_order, int32_t(tile) * sequence.tile_rows, rows);
    return TileFixedCost(plan) + keys.last - keys.first;
}

int64_t BandCostSum(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tiles) {
    if (tiles == 0) {
        return 0;
    }
    int64_t sum = 0;
    if (plan.group_fold > 1 && plan.row_order == RowOrder::kHeadMajor) {  // only short queries: a handful of tiles
        for (int64_t tile = 0; tile < tiles; ++tile) {
            sum += TileCost(plan, sequence, tile);
        }
        return sum;
    }
    const bool with_last = tiles == sequence.tile_count;  // the last tile may be shorter
    const TileRows rows = {with_last ? tiles - 1 : tiles, sequence.tile_rows, plan.group_fold};
    sum = rows.count * TileFixedCost(plan) +
          rows.SumClamped(sequence.tile_rows - 1, int64_t(sequence.band_high) + 1, sequence.key_length) -
          rows.SumClamped(0, sequence.band_low, sequence.key_length);
    return with_last ? sum + TileCost(plan, sequence, tiles - 1) : sum;
}

}  // namespace ascend_attention
