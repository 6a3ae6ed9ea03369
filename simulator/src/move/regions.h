// SPDX-License-Identifier: Apache-2.0
// How copies describe what they touch.
#pragma once

#include <cstring>

#include "core/access.h"

namespace ascend_attention::sim {

inline constexpr std::uint64_t kBlockBytes = 32;     // the unit of UB and L1
inline constexpr std::uint64_t kFractalBytes = 512;  // the unit of L0A and L0B

inline std::uint64_t RoundUp(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }
inline std::uint64_t CeilDivide(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit; }

// `count` pieces of `bytes`; adjacent pieces become one, which is cheaper to check.
inline Region Pieces(std::uint64_t offset, std::uint64_t bytes, std::uint64_t count, std::uint64_t stride) {
    if (stride == bytes || count == 1) {
        return Region{offset, bytes * count};
    }
    return Region{offset, bytes, count, stride};
}

// Repeats a pattern of 1, 2, 4 or 8 bytes.
inline void FillPattern(std::byte* target, std::uint64_t bytes, std::uint64_t value, std::uint32_t element_bytes) {
    for (std::uint64_t at = 0; at < bytes; at += element_bytes) {
        std::memcpy(target + at, &value, element_bytes);
    }
}

// What undefined bytes hold: a NaN in every float type, so that a leak shows even in fast mode.
inline void Poison(std::byte* target, std::uint64_t bytes) { std::memset(target, 0xFF, bytes); }

inline Operand Shifted(Operand operand, std::uint64_t bytes) {
    operand.address += bytes;
    return operand;
}

}  // namespace ascend_attention::sim
