// SPDX-License-Identifier: Apache-2.0
// The contents of block_table against the cache, where the host can read them: before a simulated launch.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/planner.h"

namespace ascend_attention {

struct UnknownBlock {
    int64_t batch = 0;
    int64_t column = 0;  // of block_table
    int64_t first = 0;   // key positions of the sequence that lie in the block: first to last
    int64_t last = 0;
    int32_t id = 0;
};

// The first entry that the plan's rows need and that is no block of a cache of `blocks` blocks. Entries of blocks that
// no row sees are not looked at. `table` has `columns` entries for each batch, as the plan's offsets say.
std::optional<UnknownBlock> FindUnknownBlock(const Plan& plan, const int32_t* table, int64_t columns, int64_t blocks);

}  // namespace ascend_attention
