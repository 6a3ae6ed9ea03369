// SPDX-License-Identifier: Apache-2.0
// The 16-bit float types, bit by bit: plain integer and float operations that compilers vectorise, the same on every
// CPU. Widening is exact; narrowing rounds to nearest, ties to even.
#pragma once

#include <cstdint>
#include <cstring>

namespace ascend_attention::sim {

inline float AsFloat(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline std::uint32_t AsBits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float WidenBfloat16(std::uint16_t value) { return AsFloat(std::uint32_t{value} << 16); }

// A half's exponent and fraction, moved to a float's place, are its magnitude divided by 2^112, subnormals included.
inline float WidenHalf(std::uint16_t value) {
    const std::uint32_t magnitude = std::uint32_t{value} & 0x7FFFU;
    const std::uint32_t scaled = AsBits(AsFloat(magnitude << 13) * AsFloat(0x77800000U));
    const std::uint32_t special = magnitude >= 0x7C00U ? 0x7F800000U : 0U;  // infinity and NaN
    return AsFloat((std::uint32_t{value} & 0x8000U) << 16 | scaled | special);
}

inline std::uint16_t NarrowToBfloat16(float value) {
    const std::uint32_t bits = AsBits(value);
    const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    const std::uint32_t quiet_nan = bits >> 16 | 0x40U;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : rounded);
}

inline std::uint16_t NarrowToHalf(float value) {
    const std::uint32_t bits = AsBits(value);
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    // Normal halves: rebias the exponent, round at bit 13. Overflow carries into the exponent and becomes infinity.
    const std::uint32_t normal = (magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
    // Subnormal halves are multiples of 2^-24: adding 0.5 makes the float unit round to that grid.
    const std::uint32_t subnormal = AsBits(AsFloat(magnitude) + 0.5F) - 0x3F000000U;
    std::uint32_t result = magnitude < 0x38800000U ? subnormal : normal;
    result = magnitude >= 0x47800000U ? 0x7C00U : result;  // 2^16 and above
    result = magnitude > 0x7F800000U ? 0x7E00U : result;
    return static_cast<std::uint16_t>(sign | result);
}

}  // namespace ascend_attention::sim
