// SPDX-License-Identifier: Apache-2.0
// Which calls the compiler replaced by the body of their function, by the library's .debug_info: in the line table, an
// address in such a body has the line of the body alone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/debug_forms.h"

namespace ascend_attention::sim {

struct InlineCall {
    std::uint64_t line_unit = 0;  // where in .debug_line the table stands that `file` counts in
    std::uint64_t file = 0;
    int line = 0;
};

// The calls around `address`, innermost first. Empty when it is in no inlined body, or nothing is known.
std::vector<InlineCall> FindInlineCalls(const DebugSections& sections, std::uint64_t address);

}  // namespace ascend_attention::sim
