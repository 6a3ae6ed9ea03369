// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Mmad on plain arrays. One result element is a chain over k in order, one rounding per step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

inline constexpr int kStripColumns = 16;  // one column of L0C fractals

// How float operands are rounded before they are multiplied.
enum class Hf32 : std::uint8_t { kOff, kTiesToEven, kTiesToZero };

struct MmadShape {
    std::uint32_t m;
    std::uint32_t n;
    std::uint32_t k;
    std::uint64_t left_row_fractals;  // fractals between two 16-row bands of A
    bool left_is_vector;              // m = 1: A is k consecutive values, not fractals
    Hf32 hf32 = Hf32::kOff;
};

// C += A * B for half, bfloat16_t and float operands; C is L0C's layout, m rows of each strip hold their start value.
// Lanes beyond m x n of the last fractals may be overwritten with anything.
void MultiplyFloat(float* c, const std::byte* a, const std::byte* b, DType operands, const MmadShape& shape);

// The same for int8_t and int4b_t; the sum saturates.
void MultiplyIntegers(std::int32_t* c, const std::byte* a, const std::byte* b, DType operands, const MmadShape& shape);

// The rows of B that MmadWithSparse has for k columns of A: two of every four.
inline std::uint32_t SparseRows(std::uint32_t k) { return k / 4 * 2 + (k % 4 < 2 ? k % 4 : 2); }

// int8_t, where B holds SparseRows(k) rows and `indices` says which of each four columns of A they meet: 128 bytes for
// each fractal of B, 2 bits for each value, from the lowest. False when an index is 3, which names no column.
bool MultiplySparse(std::int32_t* c, const std::byte* a, const std::byte* b, const std::byte* indices,
                    const MmadShape& shape);

// The instruction set of each compiled version of MultiplyFloat that this CPU can run, best first, for tests.
ASCEND_SIM_API int KernelVersions();
ASCEND_SIM_API const char* KernelVersionName(int version);
// Runs MultiplyFloat with one of them until called with -1. Only tests may call this: the choice is global.
ASCEND_SIM_API void ForceKernelVersion(int version);

}  // namespace ascend_attention::sim
