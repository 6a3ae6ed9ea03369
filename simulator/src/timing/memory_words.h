// SPDX-License-Identifier: Apache-2.0
// Cores that synchronise through words of global memory. How often a core looks at such a word before it goes on
// depends on time, so a replay of what it did once means nothing: timed mode refuses the kernel, however the run
// happened to go.
#pragma once

#include <cstddef>
#include <vector>

#include "timing/replay.h"

namespace ascend_attention::sim {

// Two accesses of different cores to the same bytes, one of them a store, which no chain of cross-core flags orders,
// and of which one may decide what its core does next: one of the scalar unit, or a move into the core's memory before
// the scalar unit looked at something there.
struct UnorderedWords {
    bool found = false;
    int core = 0;  // that reads, if one does
    Site site{"", 0};
    int other = 0;
    Site other_site{"", 0};
    bool gave_up = false;  // there are too many accesses to look at; nothing is known
};

// Looks at up to `most` accesses, each counted once for every stretch of memory that it shares with others.
UnorderedWords FindUnorderedWords(const std::vector<ReplayCore>& cores, std::size_t most = std::size_t{1} << 26);

}  // namespace ascend_attention::sim
