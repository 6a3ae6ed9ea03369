// SPDX-License-Identifier: Apache-2.0
// What every element loop of the machine shares: bit casts that inline into vector code, and run-time dispatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// One loop body, compiled for several vector widths, chosen once by the dynamic linker. Contraction is off for the
// whole project, so every clone gives the same bits. Not under a sanitizer: GCC instruments the function that chooses,
// and the dynamic linker calls it before the sanitizer's runtime has started.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ASCEND_SIM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ASCEND_SIM_CLONES
#endif

// Element loops run in place or on disjoint memory, never with a loop-carried dependence (core rule: overlap is
// refused before). Without this the compiler's alias test sends in-place calls down its scalar path.
#if defined(__GNUC__) && !defined(__clang__)
#define ASCEND_SIM_NO_DEPENDENCE _Pragma("GCC ivdep")
#elif defined(__clang__)
#define ASCEND_SIM_NO_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASCEND_SIM_NO_DEPENDENCE
#endif

#define ASCEND_SIM_INLINE inline __attribute__((always_inline))

namespace ascend_attention::sim {

ASCEND_SIM_INLINE std::uint32_t BitsOf(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

ASCEND_SIM_INLINE float FloatOf(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

}  // namespace ascend_attention::sim
