// SPDX-License-Identifier: Apache-2.0
// What the host plans where keys are selected by a map that it cannot see: row tiles that do not run over the end of a
// block of rows, and room for the key lists. The device deals the tiles out.
#pragma once

#include <cstdint>

#include "common/span.h"
#include "common/tensor.h"
#include "plan/problem.h"

namespace ascend_attention {

// Cuts the rows of every sequence into tiles of at most `row_limit`, numbers tiles and lists, and says how many lists
// there are and how long they are. Returns how many tiles there are; no more is done when they are too many for a plan.
int64_t CutBlocksOfRows(const AttentionProblem& problem, int64_t row_limit, SelectedKeys* selected,
                        Span<SequencePlan> sequences);

// Sets where the lists begin, behind `used` bytes of the workspace. Returns the bytes that the workspace grows by.
uint64_t AddLists(int64_t used, AttentionPlan* plan);

// At least that, for a map of this shape (B, N, blocks of rows, blocks of keys), whatever the lengths.
uint64_t MaxListBytes(const Shape& map, int64_t cores);

}  // namespace ascend_attention
