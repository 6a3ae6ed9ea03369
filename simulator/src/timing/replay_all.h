// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "timing/replay.h"

namespace ascend_attention::sim {

constexpr std::size_t kAssumptions = 3;

// The three assumptions, each a replay of its own, on up to `threads` host threads; what comes out does not depend on
// their number. Steps are kept of the middle one. Throws what a replay throws. `slice`: appointments after which two
// threads may change places, a few milliseconds.
std::array<Timeline, kAssumptions> ReplayAll(const std::vector<ReplayCore>& cores, const ReplaySettings& given,
                                             int threads, std::uint64_t slice = 32768);

}  // namespace ascend_attention::sim
