// SPDX-License-Identifier: Apache-2.0
// Cores that synchronise through words of global memory. How often a core looks at such a word before it goes on
// depends on time, so a replay of what it did once means nothing: timed mode refuses the kernel, however the run
// happened to go.
#pragma once

#include <vector>

#include "timing/replay.h"

namespace ascend_attention::sim {

// Two accesses of the scalar units of different cores to the same bytes, one of them a store, which no chain of
// cross-core flags orders.
struct UnorderedWords {
    bool found = false;
    int core = 0;  // that reads, if one does
    Site site{"", 0};
    int other = 0;
    Site other_site{"", 0};
};

UnorderedWords FindUnorderedWords(const std::vector<ReplayCore>& cores);

}  // namespace ascend_attention::sim
