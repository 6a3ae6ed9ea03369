// SPDX-License-Identifier: Apache-2.0
// The product of two 16-bit floats has at most 22 significant bits, so it is exact in float (short of overflow) and in
// double, and a fused step equals multiply, then add in double, then one rounding to float: 53 bits are enough to make
// the second rounding harmless. That is how the version without FMA instructions gets the same bits as the others.
// Products of two floats are not exact; they are rounded before the addition in every version.
#include "cube/mmad_kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "cube/fractal.h"
#include "numerics/cpu.h"
#include "numerics/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ascend_attention::sim {

namespace {

// Decoded operands. Per host thread: an instruction runs to its end before fibers switch.
class Scratch {
public:
    float* Rows(std::uint64_t count) { return Grow(rows_, count); }
    float* Panel(std::uint64_t count) { return Grow(panel_, count); }

private:
    static float* Grow(std::vector<float>& buffer, std::uint64_t count) {
        if (buffer.size() < count) {
            buffer.resize(count);
        }
        return buffer.data();
    }
    std::vector<float> rows_;
    std::vector<float> panel_;
};

Scratch& ThreadScratch() {
    thread_local Scratch scratch;
    return scratch;
}

// 11 fraction bits are left. Infinities and NaNs stay what they are.
void RoundToHf32(float* values, std::uint64_t count, Hf32 mode) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint32_t bits = BitsOf(values[i]);
        const std::uint32_t up = mode == Hf32::kTiesToEven ? 0x7FFU + (bits >> 12 & 1U) : 0x7FFU;
        const bool special = (bits & 0x7F800000U) == 0x7F800000U;
        values[i] = FloatOf(special ? bits : (bits + up) & 0xFFFFF000U);
    }
}

namespace portable {

struct Row {
    float lane[kStripColumns];
};
#if defined(__aarch64__)
constexpr int kTileRows = 4;  // 16 accumulators of 4 lanes, 4 of B, 1 of A: 21 of 32 registers
#else
constexpr int kTileRows = 2;
#endif

inline Row Load(const float* source) {
    Row row;
    std::memcpy(row.lane, source, sizeof row.lane);
    return row;
}
inline void Store(float* target, const Row& row) { std::memcpy(target, row.lane, sizeof row.lane); }
inline Row Splat(float value) {
    Row row;
    for (float& lane : row.lane) {
        lane = value;
    }
    return row;
}
inline Row Fused(const Row& a, const Row& b, const Row& c) {
    Row row;
    for (int i = 0; i < kStripColumns; ++i) {
#if defined(__FP_FAST_FMAF)
        row.lane[i] = __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]);
#else
        row.lane[i] = static_cast<float>(static_cast<double>(a.lane[i]) * b.lane[i] + c.lane[i]);
#endif
    }
    return row;
}
inline Row MulAdd(const Row& a, const Row& b, const Row& c) {
    Row row;
    for (int i = 0; i < kStripColumns; ++i) {
        row.lane[i] = a.lane[i] * b.lane[i] + c.lane[i];
    }
    return row;
}
inline Row WidenHalfRow(const std::uint16_t* source) {
    Row row;
    for (int i = 0; i < kStripColumns; ++i) {
        row.lane[i] = HalfToFloat(source[i]);
    }
    return row;
}

#include "cube/mmad_tiles.inc"

}  // namespace portable

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
namespace avx2 {

struct Row {
    __m256 low;
    __m256 high;
};
constexpr int kTileRows = 6;  // 12 accumulators, 2 of B and 1 of A: 15 of 16 registers

inline Row Load(const float* source) { return {_mm256_loadu_ps(source), _mm256_loadu_ps(source + 8)}; }
inline void Store(float* target, const Row& row) {
    _mm256_storeu_ps(target, row.low);
    _mm256_storeu_ps(target + 8, row.high);
}
inline Row Splat(float value) {
    const __m256 all = _mm256_set1_ps(value);
    return {all, all};
}
inline Row Fused(const Row& a, const Row& b, const Row& c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Row MulAdd(const Row& a, const Row& b, const Row& c) {
    return {_mm256_add_ps(_mm256_mul_ps(a.low, b.low), c.low), _mm256_add_ps(_mm256_mul_ps(a.high, b.high), c.high)};
}
inline Row WidenHalfRow(const std::uint16_t* source) {
    const __m128i* halves = reinterpret_cast<const __m128i*>(source);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}

#include "cube/mmad_tiles.inc"

}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma,f16c")
#endif
namespace avx512 {

struct Row {
    __m512 all;
};
constexpr int kTileRows = 12;

inline Row Load(const float* source) { return {_mm512_loadu_ps(source)}; }
inline void Store(float* target, const Row& row) { _mm512_storeu_ps(target, row.all); }
inline Row Splat(float value) { return {_mm512_set1_ps(value)}; }
inline Row Fused(const Row& a, const Row& b, const Row& c) { return {_mm512_fmadd_ps(a.all, b.all, c.all)}; }
inline Row MulAdd(const Row& a, const Row& b, const Row& c) {
    return {_mm512_add_ps(_mm512_mul_ps(a.all, b.all), c.all)};
}
inline Row WidenHalfRow(const std::uint16_t* source) {
    // The unmasked form leaves GCC 12 warning about its own header.
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
    return {_mm512_maskz_cvtph_ps(0xFFFF, halves)};
}

#include "cube/mmad_tiles.inc"

}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

using Kernel = void (*)(float*, const std::byte*, const std::byte*, DType, const MmadShape&, Scratch&);

struct Version {
    const char* name;
    Kernel kernel;
};

const std::vector<Version>& Versions() {
    static const std::vector<Version> versions = [] {
        std::vector<Version> found;
#if defined(__x86_64__)
        __builtin_cpu_init();
        const bool has_avx2 = HasF16c() && __builtin_cpu_supports("fma");
        if (has_avx2 && __builtin_cpu_supports("avx512f")) {
            found.push_back({"avx512f", avx512::Multiply});
        }
        if (has_avx2) {
            found.push_back({"avx2", avx2::Multiply});
        }
#endif
        found.push_back({"portable", portable::Multiply});
        return found;
    }();
    return versions;
}

std::atomic<int> forced_version{-1};

}  // namespace

void MultiplyFloat(float* c, const std::byte* a, const std::byte* b, DType operands, const MmadShape& shape) {
    const int forced = forced_version.load(std::memory_order_relaxed);
    const std::vector<Version>& versions = Versions();
    const Version& version = versions[forced < 0 ? 0 : static_cast<std::size_t>(forced)];
    version.kernel(c, a, b, operands, shape, ThreadScratch());
}

int KernelVersions() { return static_cast<int>(Versions().size()); }
const char* KernelVersionName(int version) { return Versions().at(static_cast<std::size_t>(version)).name; }
void ForceKernelVersion(int version) { forced_version.store(version, std::memory_order_relaxed); }

}  // namespace ascend_attention::sim
