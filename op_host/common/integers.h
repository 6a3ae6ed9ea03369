// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ascend_attention {

// For value > -unit and unit > 0, with value + unit below 2^63.
constexpr int64_t CeilDiv(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
constexpr int64_t RoundUp(int64_t value, int64_t unit) { return CeilDiv(value, unit) * unit; }

}  // namespace ascend_attention
