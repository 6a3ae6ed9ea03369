// SPDX-License-Identifier: Apache-2.0
// Fractals: the 16 x 32-byte tiles that L0A, L0B and L1 are made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/access.h"

namespace ascend_attention::sim {

inline constexpr std::uint64_t kFractalRows = 16;

inline bool Is16Bit(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kInt16 || dtype == DType::kUint16;
}

inline std::uint32_t ElementBytes(DType dtype) {
    switch (dtype) {
        case DType::kInt8:
        case DType::kUint8:
            return 1;
        case DType::kFloat32:
        case DType::kInt32:
        case DType::kUint32:
            return 4;
        case DType::kInt64:
        case DType::kUint64:
            return 8;
        default:
            return Is16Bit(dtype) ? 2 : 1;  // two int4 share a byte
    }
}

// What the loads into L0A and L0B know; 64-bit types and structs are none of them.
inline bool IsMatrixType(DType dtype) { return dtype != DType::kOther && ElementBytes(dtype) < 8; }

// Elements in 32 bytes: a row of a fractal.
inline std::uint64_t GroupElements(DType dtype) { return dtype == DType::kInt4 ? 64 : 32 / ElementBytes(dtype); }

// A 16 x 16 fractal of 16-bit elements, rows and columns exchanged. Source and target do not overlap.
void TransposeFractal16(std::byte* target, const std::byte* source);
// The same for undefined bytes.
void CarryTransposed16(Access& access, const Operand& target, std::uint64_t target_offset, const Operand& source,
                       std::uint64_t source_offset);

}  // namespace ascend_attention::sim
