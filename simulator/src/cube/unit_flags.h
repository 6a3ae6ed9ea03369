// SPDX-License-Identifier: Apache-2.0
// unitFlag: one flag per 512-byte unit of L0C, set when Mmad hands a result over and cleared when Fixpipe has taken it.
// 0 ignores the flags, 2 waits for them and leaves them, 3 waits for them and flips them.
#pragma once

#include <cstdint>

#include "core/access.h"

namespace ascend_attention::sim {

// A matrix of 16 x 16 fractals in L0C: `strips` columns of `fractals` fractals, `strip_bytes` apart.
struct UnitSpan {
    Operand matrix;
    std::uint64_t fractals = 0;
    std::uint64_t strips = 0;
    std::uint64_t strip_bytes = 0;
};

// Before the instruction's reads and writes: checks the parameter and the flags. Mmad needs its units clear, Fixpipe
// needs them set.
void WaitForUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span);
// After them: with 3, hands the units to the other pipe.
void HandOverUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span);

}  // namespace ascend_attention::sim
