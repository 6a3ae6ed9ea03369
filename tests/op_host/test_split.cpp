// SPDX-License-Identifier: Apache-2.0
// The visible-key formula against pair-by-pair visibility, tile costs against their sum, the split against the best
// contiguous split there is.
#include <algorithm>
#include <limits>
#include <random>

#include "common/text.h"
#include "cpp/check.h"
#include "plan/selection.h"
#include "plan/split.h"
#include "plan/visible_keys.h"

namespace {

using namespace ascend_attention;

int64_t Between(std::mt19937& random, int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
}

SequencePlan MakeSequence(int64_t query_length, int64_t key_length, int64_t low, int64_t high, int64_t fold,
                          int64_t tile_rows) {
    SequencePlan sequence{};
    sequence.query_length = int32_t(query_length);
    sequence.key_length = int32_t(key_length);
    sequence.band_low = int32_t(low);
    sequence.band_high = int32_t(high);
    sequence.tile_rows = int32_t(tile_rows);
    sequence.tile_count = int32_t((query_length * fold + tile_rows - 1) / tile_rows);
    return sequence;
}

// Positions of rows [first, first + rows) by the definition of RowOrder, one row at a time.
std::pair<int64_t, int64_t> NaivePositions(const SequencePlan& sequence, int64_t fold, RowOrder order, int64_t first,
                                           int64_t rows) {
    int64_t low = std::numeric_limits<int64_t>::max();
    int64_t high = -1;
    for (int64_t row = first; row < first + rows; ++row) {
        const int64_t position = order == RowOrder::kTokenMajor ? row / fold : row % sequence.query_length;
        low = std::min(low, position);
        high = std::max(high, position);
    }
    return {low, high};
}

void CheckTile(const SequencePlan& sequence, int64_t fold, RowOrder order, int64_t tile, const std::string& context) {
    const int64_t first_row = tile * sequence.tile_rows;
    const int64_t all_rows = sequence.query_length * fold;
    const int64_t rows = std::min<int64_t>(sequence.tile_rows, all_rows - first_row);
    CHECK_EQ_CONTEXT(int64_t(RowsOfTile(sequence, uint32_t(fold), int32_t(tile))), rows, context);
    const auto [low, high] = NaivePositions(sequence, fold, order, first_row, rows);
    const PositionSpan span = PositionsOfRows(sequence, uint32_t(fold), order, int32_t(first_row), int32_t(rows));
    CHECK_EQ_CONTEXT(int64_t(span.first), low, context);
    CHECK_EQ_CONTEXT(int64_t(span.last), high, context);

    int64_t first_key = sequence.key_length;
    int64_t last_key = 0;  // exclusive
    for (int64_t p = low; p <= high; ++p) {
        for (int64_t j = 0; j < sequence.key_length; ++j) {
            if (p + sequence.band_low <= j && j <= p + sequence.band_high) {
                first_key = std::min(first_key, j);
                last_key = std::max(last_key, j + 1);
            }
        }
    }
    const KeySpan keys = VisibleKeys(sequence, uint32_t(fold), order, int32_t(first_row), int32_t(rows));
    if (last_key == 0) {
        CHECK_EQ_CONTEXT(keys.first, keys.last, context);
    } else {
        CHECK_EQ_CONTEXT(int64_t(keys.first), first_key, context);
        CHECK_EQ_CONTEXT(int64_t(keys.last), last_key, context);
    }
    CHECK_CONTEXT(keys.first >= 0 && keys.last <= sequence.key_length && keys.first <= keys.last, context);
}

SequencePlan RandomSequence(std::mt19937& random, int64_t fold, int64_t longest) {
    const int64_t query_length = Between(random, 1, fold > 1 ? 40 : longest);
    const int64_t key_length = Between(random, 0, longest);
    int64_t low = -int64_t(kBandLimit);
    int64_t high = kBandLimit;
    if (random() % 3 != 0) {
        high = Between(random, -longest, longest);
    }
    if (random() % 3 != 0) {
        low = Between(random, -longest, longest);
    }
    return MakeSequence(query_length, key_length, low, high, fold, 16 * Between(random, 1, 8));
}

void TestVisibleKeys(std::mt19937& random) {
    for (int round = 0; round < 400; ++round) {
        const int64_t fold = random() % 2 ? 1 : Between(random, 2, 9);
        const RowOrder order = random() % 2 ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
        AttentionPlan plan{};
        plan.group_fold = uint32_t(fold);
        plan.row_order = order;
        plan.head_count = 1;
        const SequencePlan sequence = RandomSequence(random, fold, 300);
        const std::string context =
            Concat("q ", sequence.query_length, " k ", sequence.key_length, " band ", sequence.band_low, " ",
                   sequence.band_high, " fold ", fold, " order ", int(order), " tile rows ", sequence.tile_rows);
        int64_t sum = 0;
        for (int64_t tile = 0; tile < sequence.tile_count; ++tile) {
            CheckTile(sequence, fold, order, tile, context);
            CHECK_EQ_CONTEXT(TileCostSum(plan, sequence, tile), sum, context);
            sum += TileCost(plan, sequence, tile);
        }
        CHECK_EQ_CONTEXT(TileCostSum(plan, sequence, sequence.tile_count), sum, context);
    }
}

std::vector<int64_t> AllCosts(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences) {
    std::vector<int64_t> costs;
    for (const SequencePlan& sequence : sequences) {
        for (uint32_t head = 0; head < plan.head_count; ++head) {
            for (int64_t tile = 0; tile < sequence.tile_count; ++tile) {
                costs.push_back(TileCost(plan, sequence, tile));
            }
        }
    }
    return costs;
}

// Smallest possible largest part when `costs` is cut into at most `parts` contiguous pieces (dynamic programming).
int64_t BestContiguous(const std::vector<int64_t>& costs, int64_t parts) {
    const size_t n = costs.size();
    std::vector<int64_t> prefix(n + 1, 0);
    for (size_t i = 0; i < n; ++i) {
        prefix[i + 1] = prefix[i] + costs[i];
    }
    std::vector<int64_t> best = prefix;  // one part
    for (int64_t part = 1; part < parts; ++part) {
        std::vector<int64_t> next = best;
        for (size_t i = 1; i <= n; ++i) {
            for (size_t cut = 0; cut < i; ++cut) {
                next[i] = std::min(next[i], std::max(best[cut], prefix[i] - prefix[cut]));
            }
        }
        best = next;
    }
    return best[n];
}

void CheckSplit(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences, int64_t cores) {
    const std::vector<int64_t> costs = AllCosts(plan, sequences);
    const Split split = SplitTiles(plan, sequences, cores);
    CHECK(!split.cores.empty() && int64_t(split.cores.size()) <= cores);
    CHECK(split.combine.empty());
    size_t next = 0;
    int64_t worst = 0;
    for (const CoreRange& range : split.cores) {
        // The start of a range, as a number in the order sequence, head, tile.
        size_t start = 0;
        for (uint32_t i = 0; i < range.sequence; ++i) {
            start += size_t(sequences[i].tile_count) * plan.head_count;
        }
        CHECK(range.sequence < sequences.size() && range.head < plan.head_count);
        CHECK(int32_t(range.tile) < sequences[range.sequence].tile_count);
        start += size_t(range.head) * size_t(sequences[range.sequence].tile_count) + range.tile;
        CHECK_EQ(start, next);
        CHECK(range.tile_total > 0 && start + range.tile_total <= costs.size());
        CHECK(range.key_begin == 0 && range.key_end == kWholeTile);
        next = std::min(costs.size(), start + range.tile_total);
        int64_t cost = 0;
        for (size_t i = start; i < next; ++i) {
            cost += costs[i];
        }
        worst = std::max(worst, cost);
    }
    CHECK_EQ(next, costs.size());
    CHECK_EQ(split.busiest, worst);
    int64_t total = 0;
    int64_t largest = 0;
    for (const int64_t cost : costs) {
        total += cost;
        largest = std::max(largest, cost);
    }
    CHECK_EQ(split.mean, (total + cores - 1) / cores);
    CHECK(worst * cores <= total + largest * cores);  // mean + one tile
    if (costs.size() <= 200) {
        CHECK_EQ(worst, BestContiguous(costs, cores));
    }
}

// What each core costs with cuts, and that none is far above the mean. (plan_walk.h looks at where the cuts are.)
void CheckCutSplit(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences, int64_t cores) {
    const Split split = SplitKeys(plan, sequences, cores);
    CHECK(!split.cores.empty() && int64_t(split.cores.size()) <= cores);
    int64_t worst = 0;
    for (const CoreRange& range : split.cores) {
        CoreRange at = range;
        int64_t cost = 0;
        for (uint32_t n = 0; n < range.tile_total; ++n) {
            const SequencePlan& sequence = sequences[at.sequence];
            const int32_t first = int32_t(at.tile) * sequence.tile_rows;
            KeySpan keys = VisibleKeys(sequence, plan.group_fold, plan.row_order, first,
                                       RowsOfTile(sequence, plan.group_fold, int32_t(at.tile)));
            const int64_t whole = TileCost(plan, sequence, at.tile);
            const int64_t all = keys.last - keys.first;
            keys.first = n == 0 ? std::max(keys.first, range.key_begin) : keys.first;
            keys.last = n + 1 == range.tile_total ? std::min(keys.last, range.key_end) : keys.last;
            cost += whole - (all - (keys.last - keys.first));
            if (++at.tile == uint32_t(sequence.tile_count)) {
                at.tile = 0;
                if (++at.head == plan.head_count) {
                    at.head = 0;
                    ++at.sequence;
                }
            }
        }
        worst = std::max(worst, cost);
    }
    CHECK_EQ(split.busiest, worst);
    CHECK(worst <= split.mean + 2 * TileFixedCost(plan) + int64_t(CutStep(plan)));
}

void TestSplit(std::mt19937& random) {
    for (int round = 0; round < 300; ++round) {
        const int64_t fold = random() % 3 ? 1 : Between(random, 2, 8);
        AttentionPlan plan{};
        plan.group_fold = uint32_t(fold);
        plan.row_order = random() % 2 ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
        plan.head_count = uint32_t(Between(random, 1, 6));
        std::vector<SequencePlan> sequences;
        for (int64_t i = Between(random, 1, 6); i > 0; --i) {
            sequences.push_back(RandomSequence(random, fold, random() % 2 ? 200 : 1500));
        }
        CheckSplit(plan, sequences, Between(random, 1, 24));
        plan.tile_keys = uint32_t(128 * Between(random, 1, 4));
        plan.head_dim = plan.value_head_dim = random() % 2 ? 128 : 512;
        CheckCutSplit(plan, sequences, Between(random, 1, 24));
    }
}

// Causal prefill is where counting tiles would be unfair: the last tiles cost sixteen times the first.
void TestCausalBalance() {
    AttentionPlan plan{};
    plan.group_fold = 1;
    plan.head_count = 8;
    CheckSplit(plan, {MakeSequence(2048, 2048, -int64_t(kBandLimit), 0, 1, 128)}, 24);
    CheckSplit(plan, {MakeSequence(2048, 2048, -int64_t(kBandLimit), 0, 1, 128)}, 20);
}

// Row tiles where keys are selected: every row in one tile, no tile in two blocks, tiles and lists numbered in turn.
void TestBlocksOfRows(std::mt19937& random) {
    for (int round = 0; round < 200; ++round) {
        AttentionProblem problem;
        problem.query_heads = Between(random, 1, 5);
        problem.block_size = 128 * Between(random, 1, 4);
        problem.query_block = Between(random, 1, 600);
        std::vector<SequencePlan> sequences;
        for (int64_t i = Between(random, 1, 5); i > 0; --i) {
            sequences.push_back(MakeSequence(Between(random, 1, 900), random() % 4 ? Between(random, 1, 9000) : 0,
                                             -int64_t(kBandLimit), kBandLimit, 1, 16));
        }
        const int64_t limit = 16 * Between(random, 1, 8);
        SelectedKeys selected{};
        const int64_t tiles = CutBlocksOfRows(problem, limit, &selected, sequences);
        int64_t tile_number = 0;
        int64_t list_number = 0;
        for (const SequencePlan& sequence : sequences) {
            const std::string context = Concat("block ", problem.query_block, " rows ", sequence.query_length);
            CHECK_EQ_CONTEXT(int64_t(sequence.first_tile), tile_number, context);
            CHECK_EQ_CONTEXT(int64_t(sequence.first_list), list_number, context);
            const int32_t rows_of_list = sequence.key_length > 0
                                             ? int32_t(std::min<int64_t>(problem.query_block, sequence.query_length))
                                             : sequence.query_length;
            CHECK_EQ_CONTEXT(sequence.block_rows, rows_of_list, context);
            int32_t row = 0;
            std::vector<int32_t> of_block(size_t(ListsOfHead(sequence)));
            for (int32_t tile = 0; tile < sequence.tile_count; ++tile) {
                const SelectedRows rows = SelectedRowsOfTile(sequence, tile);
                CHECK_EQ_CONTEXT(rows.begin, row, context);
                CHECK_EQ_CONTEXT(rows.begin / rows_of_list, rows.block, context);
                CHECK_EQ_CONTEXT((rows.begin + rows.count - 1) / rows_of_list, rows.block, context);
                CHECK_EQ_CONTEXT(rows.count > 0 && rows.count <= limit, true, context);
                row += rows.count;
                ++of_block[size_t(rows.block)];
            }
            CHECK_EQ_CONTEXT(row, sequence.query_length, context);
            for (size_t block = 0; block < of_block.size(); ++block) {
                CHECK_EQ_CONTEXT(of_block[block], TilesOfBlock(sequence, int32_t(block)), context);
            }
            tile_number += sequence.tile_count * problem.query_heads;
            list_number += ListsOfHead(sequence) * problem.query_heads;
            CHECK_EQ_CONTEXT(int64_t(selected.list_words) * 64 * problem.block_size >= sequence.key_length, true,
                             context);
        }
        CHECK_EQ_CONTEXT(tiles, tile_number, "tiles");
        CHECK_EQ_CONTEXT(int64_t(selected.list_count), list_number, "lists");
    }
}

}  // namespace

int main() {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    TestVisibleKeys(random);
    TestSplit(random);
    TestCausalBalance();
    TestBlocksOfRows(random);
    return check::Result();
}
