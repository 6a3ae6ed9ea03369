// SPDX-License-Identifier: Apache-2.0
#include "numerics/half.h"

#include "numerics/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ascend_attention::sim {

namespace {

ASCEND_SIM_CLONES void HalfToFloatPortable(float* to, const std::uint16_t* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = HalfToFloat(from[i]);
    }
}

ASCEND_SIM_CLONES void FloatToHalfPortable(std::uint16_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = FloatToHalf(from[i]);
    }
}

ASCEND_SIM_CLONES void RoundThroughHalfPortable(float* values, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = HalfToFloat(FloatToHalf(values[i]));
    }
}

#if defined(__x86_64__)
// The same function as the portable code, NaN payloads included (tests/simulator/vector compares all 2^16 patterns).
__attribute__((target("avx2,f16c"))) std::size_t HalfToFloatF16c(float* to, const std::uint16_t* from,
                                                                 std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
    return i;
}

__attribute__((target("avx2,f16c"))) std::size_t FloatToHalfF16c(std::uint16_t* to, const float* from,
                                                                 std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
    return i;
}

__attribute__((target("avx2,f16c"))) std::size_t RoundThroughHalfF16c(float* values, std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_ps(values + i, _mm256_cvtph_ps(halves));
    }
    return i;
}
#endif

}  // namespace

void HalfToFloat(float* to, const std::uint16_t* from, std::size_t count) {
    std::size_t done = 0;
#if defined(__x86_64__)
    if (HasF16c()) {
        done = HalfToFloatF16c(to, from, count);
    }
#endif
    HalfToFloatPortable(to + done, from + done, count - done);
}

void FloatToHalf(std::uint16_t* to, const float* from, std::size_t count) {
    std::size_t done = 0;
#if defined(__x86_64__)
    if (HasF16c()) {
        done = FloatToHalfF16c(to, from, count);
    }
#endif
    FloatToHalfPortable(to + done, from + done, count - done);
}

void RoundThroughHalf(float* values, std::size_t count) {
    std::size_t done = 0;
#if defined(__x86_64__)
    if (HasF16c()) {
        done = RoundThroughHalfF16c(values, count);
    }
#endif
    RoundThroughHalfPortable(values + done, count - done);
}

ASCEND_SIM_CLONES void BfloatToFloat(float* to, const std::uint16_t* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = BfloatToFloat(from[i]);
    }
}

ASCEND_SIM_CLONES void FloatToBfloat(std::uint16_t* to, const float* from, std::size_t count) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = FloatToBfloat(from[i]);
    }
}

}  // namespace ascend_attention::sim
