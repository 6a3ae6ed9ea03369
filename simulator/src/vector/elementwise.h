// SPDX-License-Identifier: Apache-2.0
// One driver for all instructions that compute lane by lane. A kernel is a plain loop over dense arrays, chosen once
// per instruction; the driver calls it on memory where the lanes are contiguous and on gathered repeats where not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "numerics/bits.h"
#include "numerics/half.h"
#include "vector/lanes.h"

namespace ascend_attention::sim {

inline constexpr int kMaxSources = 3;

// Computes `count` elements. Sources may be the destination itself, never shifted against it.
using LaneKernel = void (*)(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count);

// Declares all reads, then the write, then computes. `sequential`: repeats chain through memory.
void RunElementwise(Access& access, const Lanes& lanes, const Stream& dst, const Stream* sources, int source_count,
                    LaneKernel kernel, std::uint64_t scalar, bool sequential);
// The computing half of it, for instructions that declare their operands differently.
void ComputeLanes(const Lanes& lanes, const Stream& dst, std::byte* out, const Stream* sources,
                  const std::byte* const* memory, int source_count, LaneKernel kernel, std::uint64_t scalar,
                  bool sequential);

// Elements per conversion step of the float16 kernels: stays in the first-level cache.
inline constexpr std::size_t kChunk = 512;

template <typename T>
T ScalarAs(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

template <typename T>
const T* As(const std::byte* memory) {
    return reinterpret_cast<const T*>(memory);
}

template <typename T>
T* As(std::byte* memory) {
    return reinterpret_cast<T*>(memory);
}

// NaN when an operand is NaN; of two zeros the first.
ASCEND_SIM_INLINE float Maximum(float x, float y) {
    const float larger = x >= y ? x : y;
    return x != x ? x : larger;
}

ASCEND_SIM_INLINE float Minimum(float x, float y) {
    const float smaller = x <= y ? x : y;
    return x != x ? x : smaller;
}

// NaN stays NaN; everything not above zero becomes +0.
ASCEND_SIM_INLINE float Rectified(float x) {
    const float positive = x > 0.0F ? x : 0.0F;
    return x != x ? x : positive;
}

// float16 operations compute in float32 and round once: exact for + - * / and square root, because float32 carries
// more than twice float16's significand.
using FloatLoop1 = void (*)(float* d, const float* a, std::size_t count);
using FloatLoop2 = void (*)(float* d, const float* a, const float* b, std::size_t count);
using FloatLoop3 = void (*)(float* d, const float* a, const float* b, const float* c, std::size_t count);
using FloatLoopS = void (*)(float* d, const float* a, float scalar, std::size_t count);

template <FloatLoop1 Loop>
void Float1(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    Loop(As<float>(dst), As<float>(sources[0]), count);
}

template <FloatLoop1 Loop>
void Half1(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    float a[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        Loop(a, a, n);
        FloatToHalf(As<std::uint16_t>(dst) + i, a, n);
    }
}

template <FloatLoop2 Loop>
void Float2(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    Loop(As<float>(dst), As<float>(sources[0]), As<float>(sources[1]), count);
}

template <FloatLoop2 Loop>
void Half2(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    float a[kChunk];
    float b[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        HalfToFloat(b, As<std::uint16_t>(sources[1]) + i, n);
        Loop(a, a, b, n);
        FloatToHalf(As<std::uint16_t>(dst) + i, a, n);
    }
}

template <FloatLoop3 Loop>
void Float3(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    Loop(As<float>(dst), As<float>(sources[0]), As<float>(sources[1]), As<float>(sources[2]), count);
}

template <FloatLoop3 Loop>
void Half3(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    float a[kChunk];
    float b[kChunk];
    float c[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        HalfToFloat(b, As<std::uint16_t>(sources[1]) + i, n);
        HalfToFloat(c, As<std::uint16_t>(sources[2]) + i, n);
        Loop(a, a, b, c, n);
        FloatToHalf(As<std::uint16_t>(dst) + i, a, n);
    }
}

// Two float16 sources, a float32 accumulator as third source and destination.
template <FloatLoop3 Loop>
void HalfHalfFloat3(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    float a[kChunk];
    float b[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        HalfToFloat(b, As<std::uint16_t>(sources[1]) + i, n);
        Loop(As<float>(dst) + i, a, b, As<float>(sources[2]) + i, n);
    }
}

template <FloatLoopS Loop>
void FloatS(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    Loop(As<float>(dst), As<float>(sources[0]), ScalarAs<float>(scalar), count);
}

template <FloatLoopS Loop>
void HalfS(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    const float s = HalfToFloat(ScalarAs<std::uint16_t>(scalar));
    float a[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        Loop(a, a, s, n);
        FloatToHalf(As<std::uint16_t>(dst) + i, a, n);
    }
}

}  // namespace ascend_attention::sim
