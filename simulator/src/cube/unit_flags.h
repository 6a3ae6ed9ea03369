// SPDX-License-Identifier: Apache-2.0
// unitFlag: one flag per 512-byte unit of L0C, set when Mmad hands a result over and cleared when Fixpipe has taken it.
// 0 ignores the flags, 2 waits for them and leaves them, 3 waits for them and flips them.
#pragma once

#include <cstdint>

#include "core/access.h"

namespace ascend_attention::sim {

// A matrix of 16 x 16 fractals in L0C: `strips` columns of fractals, `strip_bytes` apart, `fractals` in each.
struct UnitSpan {
    std::uint64_t address = 0;
    std::uint64_t fractals = 0;
    std::uint64_t strips = 0;
    std::uint64_t strip_bytes = 0;
};

// Each checks the flag's value (0, 2 or 3), waits, that is requires the flags to be as the instruction needs them, and
// updates them.
void ProduceUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span);
void ConsumeUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span);

}  // namespace ascend_attention::sim
