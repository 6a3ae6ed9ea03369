// SPDX-License-Identifier: Apache-2.0
#include "numerics/rounding.h"

#include <cmath>

#include "numerics/bits.h"
#include "numerics/half.h"

namespace ascend_attention::sim {

namespace {

// 1 when the kept part must grow by one unit. `half` is the weight of the first discarded bit.
template <Rounding Mode>
ASCEND_SIM_INLINE std::uint32_t Increment(std::uint32_t kept, std::uint32_t rest, std::uint32_t half, bool negative) {
    switch (Mode) {
        case Rounding::kFloor:
            return negative && rest != 0 ? 1U : 0U;
        case Rounding::kCeil:
            return !negative && rest != 0 ? 1U : 0U;
        case Rounding::kRound:
            return rest >= half ? 1U : 0U;
        case Rounding::kTrunc:
            return 0U;
        case Rounding::kOdd:
            return rest != 0 && (kept & 1U) == 0 ? 1U : 0U;
        default:
            return rest + (kept & 1U) > half ? 1U : 0U;
    }
}

template <Rounding Mode>
ASCEND_SIM_INLINE std::uint16_t NarrowToHalf(float value) {
    const std::uint32_t bits = BitsOf(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    const bool negative = (bits >> 31) != 0;
    const std::uint32_t exponent = magnitude >> 23;
    const bool subnormal = exponent < 113;
    // The significand with its hidden bit; a float subnormal is far below half a unit, only "not zero" matters.
    const std::uint32_t significand = (magnitude & 0x7FFFFFU) | (exponent != 0 ? 0x800000U : 0U);
    const std::uint32_t distance = 126U - exponent > 31U ? 31U : 126U - exponent;
    const std::uint32_t shift = subnormal ? distance : 13U;
    const std::uint32_t full = subnormal ? significand : magnitude - (112U << 23);
    const std::uint32_t kept = full >> shift;
    const std::uint32_t rest = full & ((1U << shift) - 1U);
    std::uint32_t result = kept + Increment<Mode>(kept, rest, 1U << (shift - 1U), negative);
    const bool stays_finite = Mode == Rounding::kTrunc || Mode == Rounding::kOdd ||
                              (Mode == Rounding::kFloor && !negative) || (Mode == Rounding::kCeil && negative);
    result = magnitude >= (143U << 23) ? (stays_finite ? 0x7BFFU : 0x7C00U) : result;
    result = magnitude == 0x7F800000U ? 0x7C00U : result;
    result = magnitude > 0x7F800000U ? (0x7E00U | ((magnitude >> 13) & 0x3FFU)) : result;
    return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000U));
}

template <Rounding Mode>
ASCEND_SIM_INLINE std::uint16_t NarrowToBfloat(float value) {
    const std::uint32_t bits = BitsOf(value);
    const std::uint32_t kept = bits >> 16;
    const std::uint32_t rounded = kept + Increment<Mode>(kept, bits & 0xFFFFU, 0x8000U, (bits >> 31) != 0);
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? (kept | 0x40U) : rounded);
}

template <Rounding Mode>
ASCEND_SIM_INLINE float Integral(float x) {
    if (Mode == Rounding::kFloor) {
        return std::floor(x);
    }
    if (Mode == Rounding::kCeil) {
        return std::ceil(x);
    }
    const float truncated = std::trunc(x);
    if (Mode == Rounding::kTrunc) {
        return truncated;
    }
    // x - truncated is exact, so this decides ties exactly. Infinity gives NaN here and is put back below.
    const float distance = std::fabs(x - truncated);
    const float away = truncated + std::copysign(1.0F, x);
    bool up = distance >= 0.5F;
    if (Mode != Rounding::kRound) {
        const float half = truncated * 0.5F;
        up = distance > 0.5F || (distance == 0.5F && half != std::trunc(half));
    }
    return up ? away : truncated;
}

// One compiled loop per mode: the mode is a constant of the loop, never a branch per element.
#define ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, Mode)                     \
    ASCEND_SIM_CLONES void Name##Mode(To* to, const From* from, std::size_t count) { \
        ASCEND_SIM_NO_DEPENDENCE                                                     \
        for (std::size_t i = 0; i < count; ++i) {                                    \
            to[i] = Function<Rounding::Mode>(from[i]);                               \
        }                                                                            \
    }

#define ASCEND_SIM_ROUNDING_LOOPS(Name, To, From, Function)                 \
    ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, kRint)               \
    ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, kFloor)              \
    ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, kCeil)               \
    ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, kRound)              \
    ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, kTrunc)              \
    ASCEND_SIM_ROUNDING_LOOP(Name, To, From, Function, kOdd)                \
    void Name(To* to, const From* from, std::size_t count, Rounding mode) { \
        switch (mode) {                                                     \
            case Rounding::kFloor:                                          \
                return Name##kFloor(to, from, count);                       \
            case Rounding::kCeil:                                           \
                return Name##kCeil(to, from, count);                        \
            case Rounding::kRound:                                          \
                return Name##kRound(to, from, count);                       \
            case Rounding::kTrunc:                                          \
                return Name##kTrunc(to, from, count);                       \
            case Rounding::kOdd:                                            \
                return Name##kOdd(to, from, count);                         \
            default:                                                        \
                return Name##kRint(to, from, count);                        \
        }                                                                   \
    }

ASCEND_SIM_ROUNDING_LOOPS(NarrowHalfLoop, std::uint16_t, float, NarrowToHalf)
ASCEND_SIM_ROUNDING_LOOPS(NarrowBfloatLoop, std::uint16_t, float, NarrowToBfloat)
ASCEND_SIM_ROUNDING_LOOPS(IntegralLoop, float, float, Integral)

// A magnitude of up to 64 bits rounded to float's 24.
template <Rounding Mode>
ASCEND_SIM_INLINE float IntegerToFloat(std::int64_t value) {
    const bool negative = value < 0;
    const std::uint64_t magnitude =
        negative ? 0U - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const int length = magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude);
    float result = 0.0F;
    if (length <= 24) {
        result = static_cast<float>(magnitude);
    } else {
        // The lowest kept bit and everything below it, squeezed into 32 bits: only "some lower bit is set" matters.
        const int shift = length - 24;
        const auto kept = static_cast<std::uint32_t>(magnitude >> shift);
        const std::uint64_t rest = magnitude & ((std::uint64_t{1} << shift) - 1U);
        const std::uint64_t half = std::uint64_t{1} << (shift - 1);
        const std::uint32_t squeezed = (rest >= half ? 2U : 0U) + ((rest & (half - 1U)) != 0 ? 1U : 0U);
        const std::uint32_t rounded = kept + Increment<Mode>(kept, squeezed, 2U, negative);
        result = std::ldexp(static_cast<float>(rounded), shift);
    }
    return negative ? -result : result;
}

ASCEND_SIM_ROUNDING_LOOPS(Int64Loop, float, std::int64_t, IntegerToFloat)
ASCEND_SIM_ROUNDING_LOOPS(Int32Loop, float, std::int32_t, IntegerToFloat)

ASCEND_SIM_CLONES void Int32ToFloatNearest(float* to, const std::int32_t* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<float>(from[i]);
    }
}

// A double rounded to float16 once: through a float rounded to odd, which keeps every tie visible.
ASCEND_SIM_INLINE std::uint16_t DoubleToHalf(double value) {
    const auto nearest = static_cast<float>(value);
    std::uint32_t bits = BitsOf(nearest);
    const auto back = static_cast<double>(nearest);
    bits -= std::fabs(back) > std::fabs(value) ? 1U : 0U;
    bits |= back != value ? 1U : 0U;
    return FloatToHalf(FloatOf(bits));
}

// kLimit is the first float above the range; every bound here is a power of two, hence exact.
template <typename To>
ASCEND_SIM_INLINE To Saturate(float x, float low, float limit, To smallest, To largest) {
    const float number = x == x ? x : 0.0F;
    const bool below = number < low;
    const bool above = number >= limit;
    const float inside = below || above ? 0.0F : number;
    const To converted = static_cast<To>(inside);
    return below ? smallest : above ? largest : converted;
}

}  // namespace

void FloatToHalf(std::uint16_t* to, const float* from, std::size_t count, Rounding mode) {
    if (mode == Rounding::kNone || mode == Rounding::kRint) {
        FloatToHalf(to, from, count);
    } else {
        NarrowHalfLoop(to, from, count, mode);
    }
}

void FloatToBfloat(std::uint16_t* to, const float* from, std::size_t count, Rounding mode) {
    if (mode == Rounding::kNone || mode == Rounding::kRint) {
        FloatToBfloat(to, from, count);
    } else {
        NarrowBfloatLoop(to, from, count, mode);
    }
}

void RoundToIntegral(float* to, const float* from, std::size_t count, Rounding mode) {
    IntegralLoop(to, from, count, mode);
}

ASCEND_SIM_CLONES void IntegralToInt8(std::int8_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<std::int8_t>(Saturate<std::int32_t>(from[i], -128.0F, 128.0F, -128, 127));
    }
}

ASCEND_SIM_CLONES void IntegralToUint8(std::uint8_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<std::uint8_t>(Saturate<std::int32_t>(from[i], 0.0F, 256.0F, 0, 255));
    }
}

ASCEND_SIM_CLONES void IntegralToInt16(std::int16_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<std::int16_t>(Saturate<std::int32_t>(from[i], -32768.0F, 32768.0F, -32768, 32767));
    }
}

ASCEND_SIM_CLONES void IntegralToInt32(std::int32_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = Saturate<std::int32_t>(from[i], -2147483648.0F, 2147483648.0F, INT32_MIN, INT32_MAX);
    }
}

ASCEND_SIM_CLONES void IntegralToInt64(std::int64_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = Saturate<std::int64_t>(from[i], -9223372036854775808.0F, 9223372036854775808.0F, INT64_MIN, INT64_MAX);
    }
}

void Int32ToFloat(float* to, const std::int32_t* from, std::size_t count, Rounding mode) {
    if (mode == Rounding::kNone || mode == Rounding::kRint) {
        Int32ToFloatNearest(to, from, count);
    } else {
        Int32Loop(to, from, count, mode);
    }
}

void Int64ToFloat(float* to, const std::int64_t* from, std::size_t count, Rounding mode) {
    Int64Loop(to, from, count, mode);
}

void ScaleInt32ToHalf(std::uint16_t* to, const std::int32_t* from, std::size_t count, float scale) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = DoubleToHalf(static_cast<double>(from[i]) * static_cast<double>(scale));
    }
}

}  // namespace ascend_attention::sim
