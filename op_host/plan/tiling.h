// SPDX-License-Identifier: Apache-2.0
// Sizes of tiles: what the rows of a tile are and how many keys it takes at once. The product has no say in them, so
// that it has none in the result beyond where tiles are cut.
#pragma once

#include <cstdint>
#include <string>

#include "common/span.h"
#include "plan/problem.h"

namespace ascend_attention {

// One of the two geometries of op_kernel/plan/geometry.h, as numbers.
struct Geometry {
    const char* kernel;  // the kernels' name before the dtype's
    int64_t head_dim_max;
    int64_t value_dim_max;
    int64_t tile_keys_with_mask;
    int64_t tile_keys_with_bias;
    int64_t core_workspace_bytes;
};
// The narrow one where it does; null when the heads are too wide for both.
const Geometry* GeometryOf(int64_t head_dim, int64_t value_head_dim);

// Smallest SoC: tiles are sized as if it were the only one.
constexpr int64_t kCoresAtLeast = 20;
// A plan counts its tiles in 32 bits.
constexpr int64_t kTilesMax = int64_t(UINT32_MAX);

// Query heads that are folded into the rows of one tile: 1, or all that share a key head.
int64_t ChooseFold(const AttentionProblem& problem);
// Rows of a tile at most, so that few tiles become one for each core; a multiple of 16.
int64_t ChooseRowLimit(const AttentionProblem& problem, int64_t fold);
// Row tiles that share loads of K and V.
int64_t ChooseRowGroup(const AttentionProblem& problem);
// Keys of a key tile at most: what lies beside the scores, an explicit mask or a bias, takes part of the room.
int64_t TileKeysLimit(const AttentionProblem& problem, const Geometry& geometry);
// tile_keys of whole tiles, and of tiles that are cut.
int64_t ChooseTileKeys(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t tiles, int64_t limit);
int64_t ChooseCutTileKeys(const AttentionPlan& plan, Span<const SequencePlan> sequences, int64_t limit);

}  // namespace ascend_attention
