// SPDX-License-Identifier: Apache-2.0
// half, bfloat16_t and int4b_t as scalar types: 16 bits of storage, arithmetic in float, rounding to nearest (ties to
// even) when a value is stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ascend_attention::sim {

inline std::uint32_t FloatBits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float FloatFromBits(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline float HalfBitsToFloat(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1FU;
    const std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0x1FU) {
        return FloatFromBits(sign | 0x7F800000U | (mantissa << 13));
    }
    if (exponent != 0) {
        return FloatFromBits(sign | ((exponent + 112U) << 23) | (mantissa << 13));
    }
    // Subnormal: mantissa * 2^-24, exact in float.
    const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-08F;
    return FloatFromBits(sign | FloatBits(magnitude));
}

inline std::uint16_t FloatToHalfBits(float value) {
    const std::uint32_t bits = FloatBits(value);
    const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) {
        return static_cast<std::uint16_t>(sign | 0x7E00U);
    }
    if (magnitude >= 0x477FF000U) {  // rounds to 2^16 or more
        return static_cast<std::uint16_t>(sign | 0x7C00U);
    }
    if (magnitude >= 0x38800000U) {
        const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
        return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
    }
    if (magnitude < 0x33000000U) {  // below half of the smallest subnormal
        return sign;
    }
    const std::uint32_t shift = 126U - (magnitude >> 23);
    const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
    const std::uint32_t quotient = mantissa >> shift;
    const std::uint32_t remainder = mantissa & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1U);
    const std::uint32_t up = (remainder > half || (remainder == half && (quotient & 1U) != 0)) ? 1U : 0U;
    return static_cast<std::uint16_t>(sign | (quotient + up));
}

inline float BfloatBitsToFloat(std::uint16_t bits) { return FloatFromBits(static_cast<std::uint32_t>(bits) << 16); }

inline std::uint16_t FloatToBfloatBits(float value) {
    const std::uint32_t bits = FloatBits(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    }
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace ascend_attention::sim

// Arithmetic and comparisons happen in float through the conversion; storing the result rounds it once.
#define ASCEND_SIM_SCALAR_OPERATORS(type)                                                     \
    type operator-() const { return type(-static_cast<float>(*this)); }                       \
    type& operator+=(const type& other) { return *this = type(float(*this) + float(other)); } \
    type& operator-=(const type& other) { return *this = type(float(*this) - float(other)); } \
    type& operator*=(const type& other) { return *this = type(float(*this) * float(other)); } \
    type& operator/=(const type& other) { return *this = type(float(*this) / float(other)); }

struct half {
    std::uint16_t bits;

    half() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    half(T value) : bits(ascend_attention::sim::FloatToHalfBits(static_cast<float>(value))) {}
    operator float() const { return ascend_attention::sim::HalfBitsToFloat(bits); }
    ASCEND_SIM_SCALAR_OPERATORS(half)
};

struct bfloat16_t {
    std::uint16_t bits;

    bfloat16_t() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    bfloat16_t(T value) : bits(ascend_attention::sim::FloatToBfloatBits(static_cast<float>(value))) {}
    operator float() const { return ascend_attention::sim::BfloatBitsToFloat(bits); }
    ASCEND_SIM_SCALAR_OPERATORS(bfloat16_t)
};

#undef ASCEND_SIM_SCALAR_OPERATORS

using float16_t = half;
using float32_t = float;

namespace AscendC {

// Two of them share a byte; only tensors of it exist. Sizes are always computed from the number of elements.
struct int4b_t {
    int4b_t() = default;
    constexpr int4b_t(int value) : storage(static_cast<std::uint8_t>(value & 0xF)) {}

    std::uint8_t storage = 0;
};

}  // namespace AscendC
