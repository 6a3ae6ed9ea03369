// SPDX-License-Identifier: Apache-2.0
// Shared by the reductions of a repeat and of a whole tensor.
#pragma once

#include "vector/lanes.h"

namespace ascend_attention::sim {

// Repeats reduced at a time.
inline constexpr std::uint64_t kReduceGroup = 8;

// Folds `count` values in groups of `span` (a power of two) neighbours; the results are packed at the front.
// `other` holds at least half as many. `half`: every addition is rounded to float16.
void FoldTree(float* values, float* other, std::size_t count, std::size_t span, ReduceOp op, bool half);

// No repeat may read what an earlier repeat's result has overwritten. Results of a repeat may lie on its own source
// (it has been read by then), which CANN's own library relies on.
void CheckReduceOverlap(Access& access, const Operand& dst, std::uint64_t result_bytes, std::uint64_t repeat_step,
                        const Stream& src, const Lanes& lanes);

}  // namespace ascend_attention::sim
