// SPDX-License-Identifier: Apache-2.0
#include "plan/tiling.h"

#include <algorithm>

#include "common/integers.h"
#include "plan/geometry.h"

namespace ascend_attention {
namespace {

constexpr int64_t kRowsMax = INT32_MAX;

template <class Heads>
constexpr Geometry MakeGeometry(const char* kernel) {
    return {kernel,
            Heads::kHeadDimMax,
            Heads::kValueDimMax,
            Heads::kTileKeysWithMask,
            Heads::kTileKeysWithBias,
            Heads::kCoreWorkspaceBytes};
}
constexpr Geometry kGeometries[] = {MakeGeometry<NarrowHeads>("attention_"),
                                    MakeGeometry<WideHeads>("attention_wide_")};

int64_t TilesOf(int64_t rows, int64_t limit = kTileRowsMax) { return CeilDiv(rows, limit); }

// Keys that a tile of `rows` rows sees at most.
int64_t KeysAtMost(const SequencePlan& sequence, int64_t rows) {
    const int64_t band = int64_t(sequence.band_high) - sequence.band_low + rows;
    return std::clamp<int64_t>(band, 0, sequence.key_length);
}

// `keys`, or what the longest range needs, in whole cube steps.
int64_t Fitted(int64_t keys, int64_t longest) {
    return std::min(keys, RoundUp(std::max<int64_t>(1, longest), kCubeStep));
}

}  // namespace

const Geometry* GeometryOf(int64_t head_dim, int64_t value_head_dim) {
    for (const Geometry& geometry : kGeometries) {
        if (head_dim <= geometry.head_dim_max && value_head_dim <= geometry.value_dim_max) {
            return &geometry;
        }
    }
    return nullptr;
}

// Short queries would leave most rows of a tile empty and read the same keys once per head. Long ones fill tiles of
// their own: heads are folded for the sake of short ones beside them when that saves a quarter of all work, and where
// it keeps the rows of a position together.
int64_t ChooseFold(const AttentionProblem& problem) {
    const int64_t group = problem.query_heads / problem.key_heads;
    if (problem.key_placement == KeyPlacement::kSelected) {
        return 1;  // each query head has its own map
    }
    double folded = 0;  // keys that all tiles go through: sums that 64 bits may not hold
    double plain = 0;
    bool any_long = false;
    const auto end = problem.sequences.end();
    for (auto sequence = problem.sequences.begin(); sequence != end;) {
        // A batch has few lengths of queries: as many keys as follow with the same one. Rows that are only zeroed have
        // none, and no say.
        const int64_t rows = sequence->query_length;
        int64_t keys = 0;
        for (; sequence != end && sequence->query_length == rows; ++sequence) {
            keys += sequence->key_length;
        }
        if (rows * group > kRowsMax) {
            return 1;
        }
        any_long = any_long || (rows >= kTileRowsMax && keys > 0);
        folded += double(TilesOf(rows * group)) * double(keys);
        plain += double(TilesOf(rows) * group) * double(keys);
    }
    if (any_long) {
        return problem.fold_order == RowOrder::kTokenMajor && folded < 0.75 * plain ? group : 1;
    }
    return folded < plain ? group : 1;
}

int64_t ChooseRowLimit(const AttentionProblem& problem, int64_t fold) {
    for (int64_t limit = 16; limit < kTileRowsMax; limit *= 2) {
        int64_t tiles = 0;
        for (const ProblemSequence& sequence : problem.sequences) {
            if (sequence.key_length > 0) {
                tiles += TilesOf(sequence.query_length * fold, limit) * (problem.query_heads / fold);
            }
            if (tiles > kCoresAtLeast) {
                break;
            }
        }
        if (tiles <= kCoresAtLeast) {
            return limit;
        }
    }
    return kTileRowsMax;
}

// As many as there is room for.
int64_t ChooseRowGroup(const AttentionProblem& problem) {
    return std::max(problem.head_dim, problem.value_head_dim) <= kRowGroupChannels ? kRowGroupMax : 1;
}

int64_t TileKeysLimit(const AttentionProblem& problem, const Geometry& geometry) {
    int64_t limit = kTileKeysMax;
    if (problem.has_mask) {
        limit = std::min(limit, geometry.tile_keys_with_mask);
    }
    if (problem.has_bias) {
        limit = std::min(limit, geometry.tile_keys_with_bias);
    }
    return limit;
}

// As many keys as there is room for: the running output is rescaled and the partial output written once per tile,
// whatever its width. Never more keys than the longest range needs. Fewer where a core has a handful of steps: what
// counts then is how soon the first product is there.
int64_t ChooseTileKeys(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t tiles, int64_t limit) {
    constexpr int64_t kFewTiles = 8 * kCoresAtLeast;
    constexpr int64_t kShortTileKeys = 256;
    int64_t longest = 1;
    for (const SequencePlan& sequence : sequences) {
        if (sequence.key_length > longest) {
            longest = std::max(longest, KeysAtMost(sequence, int64_t(plan.row_group) * sequence.tile_rows));
        }
    }
    const bool brief = tiles <= kFewTiles && longest <= 8 * kShortTileKeys;
    return Fitted(brief ? std::min(kShortTileKeys, limit) : limit, longest);
}

// Cuts lie between key tiles: eight of them for each core balance the cores to an eighth.
int64_t ChooseCutTileKeys(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t limit) {
    int64_t longest = 1;
    int64_t all = 0;
    for (const SequencePlan& sequence : sequences) {
        const int64_t keys = KeysAtMost(sequence, sequence.tile_rows);
        longest = std::max(longest, keys);
        all += keys * sequence.tile_count * plan.head_count;
    }
    int64_t keys = limit;
    while (keys > kCubeStep && keys * 8 * kCoresAtLeast > all) {
        keys /= 2;
    }
    return Fitted(keys, longest);
}

}  // namespace ascend_attention
