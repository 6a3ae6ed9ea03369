// SPDX-License-Identifier: Apache-2.0
#include "numerics/exp_ln.h"

#include "numerics/bits.h"

namespace ascend_attention::sim {

namespace {

// Adding and subtracting it rounds a float of magnitude below 2^22 to the nearest integer, and leaves that integer in
// the low bits of the sum.
constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23

ASCEND_SIM_INLINE float ExpOne(float argument) {
    // Beyond these bounds the result is 0 or infinity; NaN passes both comparisons unchanged.
    float x = argument < -105.0F ? -105.0F : argument;
    x = x > 89.0F ? 89.0F : x;
    const float shifted = x * 1.44269504F + kRounder;
    const float count = shifted - kRounder;
    const auto power = static_cast<std::int32_t>(BitsOf(shifted) - BitsOf(kRounder));
    // x - count * ln 2, with ln 2 in two parts: the first has 9 significant bits, so its product is exact.
    const float head = x - count * 0.693359375F;
    const float rest = count * -2.12194440e-4F;
    const float r = head - rest;
    const float lost = (head - r) - rest;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = 1.0F + (r + (p * (r * r) + lost));
    // Two factors: 2^power itself may not be a normal number. The first product is exact, the second rounds once.
    const std::int32_t first = power >> 1;
    const std::int32_t second = power - first;
    const float scale1 = FloatOf(static_cast<std::uint32_t>(first + 127) << 23);
    const float scale2 = FloatOf(static_cast<std::uint32_t>(second + 127) << 23);
    return p * scale1 * scale2;
}

ASCEND_SIM_INLINE float LnOne(float argument) {
    const bool tiny = argument < 1.17549435e-38F;
    const float scaled = tiny ? argument * 8388608.0F : argument;
    const std::uint32_t bits = BitsOf(scaled);
    // m in [sqrt(1/2), sqrt(2)), argument = m * 2^e.
    const std::uint32_t moved = bits + (0x3F800000U - 0x3F3504F3U);
    const std::int32_t e = static_cast<std::int32_t>(moved >> 23) - 127 - (tiny ? 23 : 0);
    const float f = FloatOf((moved & 0x7FFFFFU) + 0x3F3504F3U) - 1.0F;
    const float square = f * f;
    float p = 7.0376836292e-2F;
    p = p * f - 1.1514610310e-1F;
    p = p * f + 1.1676998740e-1F;
    p = p * f - 1.2420140846e-1F;
    p = p * f + 1.4249322787e-1F;
    p = p * f - 1.6668057665e-1F;
    p = p * f + 2.0000714765e-1F;
    p = p * f - 2.4999993993e-1F;
    p = p * f + 3.3333331174e-1F;
    const float exponent = static_cast<float>(e);
    float y = f * square * p + exponent * -2.12194440e-4F;
    y = y - 0.5F * square;
    float result = (f + y) + exponent * 0.693359375F;
    const float infinity = FloatOf(0x7F800000U);
    const float not_a_number = FloatOf(0x7FC00000U);
    result = argument == 0.0F ? -infinity : result;
    result = argument < 0.0F ? not_a_number : result;
    result = argument == infinity ? infinity : result;
    return argument == argument ? result : argument;
}

}  // namespace

ASCEND_SIM_CLONES void Exp(float* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = ExpOne(from[i]);
    }
}

ASCEND_SIM_CLONES void Ln(float* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = LnOne(from[i]);
    }
}

}  // namespace ascend_attention::sim
