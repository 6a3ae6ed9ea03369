// SPDX-License-Identifier: Apache-2.0
// Integer helpers of the scalar unit.
#pragma once

#include <cstdint>

#include "kernel_operator.h"

namespace ascend_attention {

__aicore__ inline constexpr int32_t CeilDiv(int32_t value, int32_t unit) { return (value + unit - 1) / unit; }
__aicore__ inline constexpr int32_t RoundUp(int32_t value, int32_t unit) { return CeilDiv(value, unit) * unit; }
__aicore__ inline constexpr int32_t Min(int32_t a, int32_t b) { return a < b ? a : b; }
__aicore__ inline constexpr int32_t Max(int32_t a, int32_t b) { return a > b ? a : b; }
__aicore__ inline constexpr int32_t Clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : (value > high ? high : value);
}

constexpr int32_t kFractal = 16;  // rows and 16-bit columns of a cube fractal
constexpr int32_t kFractalElements = 16 * 16;
constexpr int32_t kFloatsPerBlock = 8;  // 32-byte block of the vector unit
constexpr int32_t kHalfsPerBlock = 16;
constexpr int32_t kFloatsPerRepeat = 64;  // 256 bytes, one repeat
constexpr int32_t kHalfsPerRepeat = 128;

}  // namespace ascend_attention
