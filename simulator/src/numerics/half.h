// SPDX-License-Identifier: Apache-2.0
// float16 and bfloat16 as 16-bit patterns: exact widening and round-to-nearest-even narrowing.
//
// Overflow gives infinity and NaN stays NaN. The control register of A2/A3 can also saturate (CTRL[48]); the runtime
// selects the inf/NaN mode on these products and so does the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numerics/bits.h"

namespace ascend_attention::sim {

// Branch-free, so that loops over it vectorise. Subnormals are exact: the subtraction only uses normal numbers.
ASCEND_SIM_INLINE float HalfToFloat(std::uint16_t half) {
    const std::uint32_t magnitude = (half & 0x7FFFU) << 13;
    const std::uint32_t exponent = half & 0x7C00U;
    const std::uint32_t normal = magnitude + (112U << 23);
    const std::uint32_t special = (magnitude + (224U << 23)) | ((half & 0x3FFU) != 0 ? 0x400000U : 0U);
    const std::uint32_t subnormal = BitsOf(FloatOf(magnitude + (113U << 23)) - FloatOf(113U << 23));
    const std::uint32_t finite = exponent == 0 ? subnormal : normal;
    return FloatOf((exponent == 0x7C00U ? special : finite) | ((half & 0x8000U) << 16));
}

ASCEND_SIM_INLINE std::uint16_t FloatToHalf(float value) {
    const std::uint32_t bits = BitsOf(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
    // 0.5 has the unit in the last place of float16's subnormals: the addition rounds to it, to nearest even.
    const std::uint32_t subnormal = BitsOf(FloatOf(magnitude) + 0.5F) - BitsOf(0.5F);
    std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
    result = magnitude >= (143U << 23) ? 0x7C00U : result;
    result = magnitude > 0x7F800000U ? (0x7E00U | ((magnitude >> 13) & 0x3FFU)) : result;
    return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000U));
}

ASCEND_SIM_INLINE float BfloatToFloat(std::uint16_t bfloat) {
    return FloatOf(static_cast<std::uint32_t>(bfloat) << 16);
}

ASCEND_SIM_INLINE std::uint16_t FloatToBfloat(float value) {
    const std::uint32_t bits = BitsOf(value);
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40U;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded);
}

// Bulk forms. In place is not allowed: the widths differ.
void HalfToFloat(float* to, const std::uint16_t* from, std::size_t count);
void FloatToHalf(std::uint16_t* to, const float* from, std::size_t count);
void BfloatToFloat(float* to, const std::uint16_t* from, std::size_t count);
void FloatToBfloat(std::uint16_t* to, const float* from, std::size_t count);
// Rounds float values to the nearest float16 value and keeps them as float: one float16 operation in a chain.
void RoundThroughHalf(float* values, std::size_t count);

}  // namespace ascend_attention::sim
