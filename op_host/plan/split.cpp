// SPDX-License-Identifier: Apache-2.0
#include "plan/split.h"

#include <algorithm>

#include "common/integers.h"
#include "plan/visible_keys.h"

namespace ascend_attention {
namespace {

// Sum of clamp(start + i * step, 0, limit) for i in [0, count).
int64_t SumClamped(int64_t start, int64_t step, int64_t count, int64_t limit) {
    const int64_t negative = start >= 0 ? 0 : std::min(count, CeilDiv(-start, step));
    const int64_t below_limit = start >= limit ? 0 : std::min(count, CeilDiv(limit - start, step));
    const int64_t rising = std::max<int64_t>(0, below_limit - negative);
    const int64_t first = start + negative * step;
    const int64_t last = start + (negative + rising - 1) * step;
    // first + last and rising have a product that is even: it is twice the sum of an arithmetic series.
    const int64_t sum = rising > 0 ? (first + last) * rising / 2 : 0;
    return sum + (count - std::max(below_limit, negative)) * limit;
}

bool SameCost(const SequencePlan& a, const SequencePlan& b) {
    return a.query_length == b.query_length && a.key_length == b.key_length && a.band_low == b.band_low &&
           a.band_high == b.band_high && a.tile_rows == b.tile_rows;
}

bool OnlyZeroed(const SequencePlan& sequence) {
    return sequence.key_length == 0 || sequence.band_low > sequence.band_high;
}

// An upper bound is enough: it only limits a search.
int64_t TileCostBound(const SequencePlan& sequence) {
    const int64_t band = int64_t(sequence.band_high) - sequence.band_low + 1;
    return kTileFixedCost + std::max<int64_t>(0, std::min<int64_t>(sequence.key_length, band + sequence.tile_rows));
}

struct Position {
    int64_t sequence = 0;
    int64_t head = 0;
    int64_t tile = 0;
    int64_t cost_before = 0;  // of all tiles before this position
    int64_t tiles_before = 0;
};

class WorkLine {
public:
    WorkLine(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences)
        : plan_(plan), sequences_(sequences) {
        const size_t count = sequences.size();
        head_cost_.resize(count);
        cost_before_.assign(count + 1, 0);
        tiles_before_.assign(count + 1, 0);
        for (size_t i = 0; i < count; ++i) {
            // Batches often repeat one length: reuse the neighbour's sum.
            head_cost_[i] = i > 0 && SameCost(sequences[i - 1], sequences[i])
                                ? head_cost_[i - 1]
                                : TileCostSum(plan, sequences[i], sequences[i].tile_count);
            cost_before_[i + 1] = cost_before_[i] + head_cost_[i] * plan.head_count;
            tiles_before_[i + 1] = tiles_before_[i] + int64_t(sequences[i].tile_count) * plan.head_count;
            tile_bound_ = std::max(tile_bound_, TileCostBound(sequences[i]));
        }
    }

    int64_t total_cost() const { return cost_before_.back(); }
    int64_t tile_bound() const { return tile_bound_; }
    bool AtEnd(const Position& position) const { return position.sequence == int64_t(sequences_.size()); }

    // The furthest position with no more than `limit` cost before it. Costs are positive, so sums are increasing.
    Position Furthest(int64_t limit) const {
        Position position;
        const auto after = std::upper_bound(cost_before_.begin(), cost_before_.end(), limit);
        position.sequence = after - cost_before_.begin() - 1;
        const size_t i = static_cast<size_t>(position.sequence);
        position.cost_before = cost_before_[i];
        position.tiles_before = tiles_before_[i];
        if (AtEnd(position)) {
            return position;
        }
        const SequencePlan& sequence = sequences_[i];
        position.head = (limit - cost_before_[i]) / head_cost_[i];
        const int64_t left = limit - cost_before_[i] - position.head * head_cost_[i];
        position.tile = TilesWithin(sequence, left);
        position.cost_before += position.head * head_cost_[i] + TileCostSum(plan_, sequence, position.tile);
        position.tiles_before += position.head * sequence.tile_count + position.tile;
        return position;
    }

private:
    // Largest number of leading tiles of a head that cost no more than `budget` (which is below the head's cost).
    int64_t TilesWithin(const SequencePlan& sequence, int64_t budget) const {
        int64_t low = 0;
        int64_t high = sequence.tile_count;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            (TileCostSum(plan_, sequence, middle) <= budget ? low : high) = middle;
        }
        return low;
    }

    const AttentionPlan& plan_;
    const std::vector<SequencePlan>& sequences_;
    std::vector<int64_t> head_cost_;
    std::vector<int64_t> cost_before_;
    std::vector<int64_t> tiles_before_;
    int64_t tile_bound_ = 0;
};

// Fills core after core up to `capacity`. Empty when more than `cores` would be needed.
std::vector<CoreRange> FillCores(const WorkLine& line, int64_t capacity, int64_t cores) {
    std::vector<CoreRange> ranges;
    Position start;
    while (!line.AtEnd(start)) {
        const Position end = line.Furthest(start.cost_before + capacity);
        if (end.tiles_before == start.tiles_before || int64_t(ranges.size()) == cores) {
            return {};
        }
        ranges.push_back({uint32_t(start.sequence), uint32_t(start.head), uint32_t(start.tile),
                          uint32_t(end.tiles_before - start.tiles_before), 0, kWholeTile});
        start = end;
    }
    return ranges;
}

}  // namespace

int64_t TileCost(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tile) {
    if (OnlyZeroed(sequence)) {
        return kEmptyTileCost;
    }
    const int32_t rows = RowsOfTile(sequence, plan.group_fold, int32_t(tile));
    const KeySpan keys =
        VisibleKeys(sequence, plan.group_fold, plan.row_order, int32_t(tile) * sequence.tile_rows, rows);
    return kTileFixedCost + keys.last - keys.first;
}

int64_t TileCostSum(const AttentionPlan& plan, const SequencePlan& sequence, int64_t tiles) {
    if (OnlyZeroed(sequence)) {
        return tiles * kEmptyTileCost;
    }
    if (tiles == 0) {
        return 0;
    }
    int64_t sum = 0;
    if (plan.group_fold > 1) {  // folding is for short queries: a handful of tiles
        for (int64_t tile = 0; tile < tiles; ++tile) {
            sum += TileCost(plan, sequence, tile);
        }
        return sum;
    }
    const bool with_last = tiles == sequence.tile_count;  // the last tile may be shorter
    const int64_t full = with_last ? tiles - 1 : tiles;
    const int64_t rows = sequence.tile_rows;
    sum = full * kTileFixedCost + SumClamped(rows + sequence.band_high, rows, full, sequence.key_length) -
          SumClamped(sequence.band_low, rows, full, sequence.key_length);
    return with_last ? sum + TileCost(plan, sequence, tiles - 1) : sum;
}

std::vector<CoreRange> SplitWork(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences, int64_t cores) {
    const WorkLine line(plan, sequences);
    int64_t low = CeilDiv(line.total_cost(), cores);
    int64_t high = low + line.tile_bound();  // always enough: each core but the last then gets at least the mean
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (FillCores(line, middle, cores).empty()) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return FillCores(line, low, cores);
}

}  // namespace ascend_attention
