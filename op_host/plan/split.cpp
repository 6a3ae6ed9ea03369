// SPDX-License-Identifier: Apache-2.0
#include "plan/split.h"

#include <algorithm>

#include "common/integers.h"
#include "common/unset_vector.h"
#include "plan/visible_keys.h"

namespace ascend_attention {
namespace {

bool SameCost(const SequencePlan& a, const SequencePlan& b) {
    return a.key_length == b.key_length && a.query_length == b.query_length && a.band_low == b.band_low &&
           a.band_high == b.band_high && a.tile_rows == b.tile_rows;
}

// Of a tile, without the fixed cost. An upper bound is enough: it only limits a search.
int64_t TileKeysBound(const SequencePlan& sequence) {
    const int64_t band = int64_t(sequence.band_high) - sequence.band_low + 1;
    return std::min<int64_t>(sequence.key_length, band + sequence.tile_rows);
}

// Before a tile, or, with `keys` above 0, inside it: behind so many of the keys that it sees.
struct Position {
    int64_t sequence = 0;
    int64_t head = 0;
    int64_t tile = 0;
    int64_t keys = 0;
    int64_t cost_before = 0;  // of all tiles before this position
    int64_t tiles_before = 0;
};

class WorkLine {
public:
    WorkLine(const AttentionPlan& plan, Span<const SequencePlan> sequences) : plan_(plan), sequences_(sequences) {
        const size_t count = sequences.size();
        head_cost_.resize(count);
        cost_before_.resize(count + 1);
        tiles_before_.resize(count + 1);
        const int64_t heads = plan.head_count;
        int64_t head_cost = 0;
        int64_t cost = 0;
        int64_t tiles = 0;
        int64_t longest = 0;
        for (size_t i = 0; i < count; ++i) {
            const SequencePlan& sequence = sequences[i];
            if (i == 0 || !SameCost(sequences[i - 1], sequence)) {  // batches often repeat one length
                head_cost = TileCostSum(plan, sequence, sequence.tile_count);
                if (sequence.key_length > longest) {
                    longest = std::max(longest, TileKeysBound(sequence));
                }
            }
            head_cost_[i] = head_cost;
            cost_before_[i] = cost;
            tiles_before_[i] = tiles;
            cost += head_cost * heads;
            tiles += sequence.tile_count * heads;
        }
        cost_before_[count] = cost;
        tiles_before_[count] = tiles;
        tile_bound_ = TileFixedCost(plan) + longest;
    }

    int64_t total_cost() const { return cost_before_.back(); }
    int64_t tile_bound() const { return tile_bound_; }
    int64_t fixed_cost() const { return TileFixedCost(plan_); }
    bool AtEnd(const Position& position) const { return position.sequence == int64_t(sequences_.size()); }

    // The furthest position between tiles with no more than `limit` cost before it. Costs are positive, so sums are
    // increasing.
    Position Furthest(int64_t limit, const Position& from) const {
        Position position;
        position.sequence = LastWithin(limit, from.sequence);
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

    // Of the tile at a position that is not the end.
    int64_t CostAt(const Position& position) const {
        return TileCost(plan_, sequences_[static_cast<size_t>(position.sequence)], position.tile);
    }

    KeySpan KeysOf(const Position& position) const {
        const SequencePlan& sequence = sequences_[static_cast<size_t>(position.sequence)];
        const int32_t tile = int32_t(position.tile);
        return VisibleKeys(sequence, plan_.group_fold, plan_.row_order, tile * sequence.tile_rows,
                           RowsOfTile(sequence, plan_.group_fold, tile));
    }

private:
    // The last sequence from `from` on with no more than `limit` cost before it. It is seldom far: strides grow, then
    // shrink.
    int64_t LastWithin(int64_t limit, int64_t from) const {
        const int64_t end = int64_t(cost_before_.size());
        int64_t stride = 1;
        while (from + stride < end && cost_before_[size_t(from + stride)] <= limit) {
            from += stride;
            stride *= 2;
        }
        for (; stride > 0; stride /= 2) {
            const int64_t next = from + stride;
            from = next < end && cost_before_[size_t(next)] <= limit ? next : from;
        }
        return from;
    }

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
    Span<const SequencePlan> sequences_;
    UnsetVector<int64_t> head_cost_;
    UnsetVector<int64_t> cost_before_;
    UnsetVector<int64_t> tiles_before_;
    int64_t tile_bound_ = 0;
};

// Fills core after core, each up to `capacity`.
class Filler {
public:
    // `key_step` 0: whole tiles only.
    Filler(const WorkLine& line, int64_t cores, int64_t key_step)
        : line_(line), core_limit_(cores), key_step_(key_step), fixed_cost_(line.fixed_cost()) {}

    // False when more cores would be needed; no capacity below *needed does better then.
    bool Fill(int64_t capacity, Split* split, int64_t* needed) const {
        split->cores.clear();
        split->keys_after.clear();
        split->busiest = 0;
        split->first_cost = 0;
        *needed = key_step_ == 0 ? INT64_MAX : capacity + 1;
        Position start;
        while (!line_.AtEnd(start)) {
            Position end;
            const int64_t cost = Reach(start, capacity, &end);
            if (key_step_ == 0 && !line_.AtEnd(end)) {
                *needed = std::min(*needed, cost + line_.CostAt(end));
            }
            const int64_t tiles = end.tiles_before - start.tiles_before + (end.keys > 0 ? 1 : 0);
            if (cost == 0 || int64_t(split->cores.size()) == core_limit_) {
                return false;
            }
            const int64_t first_cost = FirstCost(start, tiles);
            split->first_cost = std::max(split->first_cost, first_cost);
            split->keys_after.push_back(first_cost == 0 ? INT64_MAX : cost - first_cost - (tiles - 1) * fixed_cost_);
            split->cores.push_back({uint32_t(start.sequence), uint32_t(start.head), 0, uint32_t(start.tile),
                                    uint32_t(tiles), KeyAt(start, 0), KeyAt(end, kWholeTile)});
            split->busiest = std::max(split->busiest, cost);
            start = end;
        }
        return true;
    }

private:
    int32_t KeyAt(const Position& position, int32_t between_tiles) const {
        return position.keys == 0 ? between_tiles : line_.KeysOf(position).first + int32_t(position.keys);
    }

    // What the rest of a tile costs that a core begins with before it goes on to others.
    int64_t FirstCost(const Position& start, int64_t tiles) const {
        if (start.keys == 0 || tiles == 1) {
            return 0;
        }
        const KeySpan span = line_.KeysOf(start);
        return fixed_cost_ + span.last - span.first - start.keys;
    }

    // How far a core gets from `start`, and what it costs. 0: not even to the next place for a cut.
    int64_t Reach(const Position& start, int64_t capacity, Position* end) const {
        int64_t cost = 0;
        int64_t line_cost = start.cost_before;
        if (start.keys > 0) {  // the rest of a tile first
            const KeySpan span = line_.KeysOf(start);
            const int64_t rest = span.last - span.first - start.keys;
            const int64_t taken = fixed_cost_ + rest <= capacity ? rest : StepsWithin(capacity);
            cost = fixed_cost_ + taken;
            if (taken < rest) {
                *end = start;
                end->keys += taken;
                return taken > 0 ? cost : 0;
            }
            line_cost += fixed_cost_ + span.last - span.first;
        }
        *end = line_.Furthest(line_cost + capacity - cost, start);
        cost += end->cost_before - line_cost;
        if (key_step_ > 0 && !line_.AtEnd(*end)) {
            const int64_t taken = StepsWithin(capacity - cost);
            const KeySpan span = line_.KeysOf(*end);
            if (taken > 0 && taken < span.last - span.first) {
                end->keys = taken;
                cost += fixed_cost_ + taken;
            }
        }
        return cost;
    }

    // Keys of whole steps that fit into `budget` with the fixed cost of their tile.
    int64_t StepsWithin(int64_t budget) const {
        return key_step_ == 0 || budget < fixed_cost_ ? 0 : (budget - fixed_cost_) / key_step_ * key_step_;
    }

    const WorkLine& line_;
    const int64_t core_limit_;
    const int64_t key_step_;
    const int64_t fixed_cost_;
};

// The split of the smallest capacity in (low, high] that does, to within `precision`; `high` does.
Split BestFill(const Filler& filler, int64_t low, int64_t high, int64_t precision) {
    Split best;
    Split tried;
    int64_t needed = 0;
    while (high - low > precision) {
        const int64_t middle = low + (high - low) / 2;
        if (filler.Fill(middle, &tried, &needed)) {
            std::swap(best, tried);
            high = std::max(low + 1, best.busiest);
        } else {
            low = std::min(high - 1, needed - 1);
        }
    }
    if (best.cores.empty()) {
        filler.Fill(high, &best, &needed);
    }
    return best;
}

// Every tile that a core ends inside of is combined from its parts there and on the cores that follow.
void AddCombineTasks(Split* split) {
    const std::vector<CoreRange>& cores = split->cores;
    for (size_t first = 0; first + 1 < cores.size();) {
        size_t last = first;
        while (cores[last].key_end != kWholeTile && (last == first || cores[last].tile_total == 1)) {
            ++last;
        }
        if (last > first) {
            const CoreRange& next = cores[first + 1];
            split->combine.push_back({next.sequence, next.head, next.tile, uint32_t(first), uint32_t(last - first + 1),
                                      cores[last].tile_total == 1 ? kTailSlot : kHeadSlot});
        }
        first = std::max(last, first + 1);
    }
}

}  // namespace

Split SplitTiles(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t cores) {
    const WorkLine line(plan, sequences);
    const int64_t mean = CeilDiv(line.total_cost(), cores);
    // Always enough is the mean and one tile: each core but the last then gets at least the mean.
    Split split = BestFill(Filler(line, cores, 0), mean - 1, mean + line.tile_bound(), 1);
    split.mean = mean;
    return split;
}

Split SplitKeys(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t cores) {
    const WorkLine line(plan, sequences);
    const int64_t mean = CeilDiv(line.total_cost(), cores);
    const int64_t step = CutStep(plan);
    // A core stops when a step, or the begin of a tile and a step, does not fit; the rest of a tile pays for a
    // begin of its own.
    const int64_t enough = mean + 2 * TileFixedCost(plan) + step;
    Split split =
        BestFill(Filler(line, cores, step), mean - 1, enough, std::max<int64_t>(step / 8, mean / kSplitPrecision));
    split.mean = mean;
    AddCombineTasks(&split);
    return split;
}

void ChooseMergers(const AttentionPlan& plan, Split* split) {
    constexpr int64_t kStepsLeft = 2;  // when the part is wanted
    const int64_t tile_keys = plan.tile_keys;
    const int64_t lag = IsWide(plan) ? WideHeads::kStepsBehind : NarrowHeads::kStepsBehind;
    const bool early = split->first_cost + (kStepsLeft + 1) * tile_keys <= split->busiest;
    const auto merges = [&](const CombineTask& task) {
        return early && task.part_count == 2 && task.last_slot == kHeadSlot &&
               split->keys_after[task.first_core] >= (kStepsLeft + lag) * tile_keys;
    };
    const auto first = std::stable_partition(split->combine.begin(), split->combine.end(),
                                             [&](const CombineTask& task) { return !merges(task); });
    for (auto task = first; task != split->combine.end(); ++task) {
        split->cores[task->first_core].merges = 1;
    }
    split->dealt = uint32_t(first - split->combine.begin());
}

}  // namespace ascend_attention
