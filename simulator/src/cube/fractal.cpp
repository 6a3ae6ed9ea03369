// SPDX-License-Identifier: Apache-2.0
#include "cube/fractal.h"

#include <cstring>

namespace ascend_attention::sim {

namespace {

// Generic vectors of 16 bytes: part of the base instruction set of every CPU this builds for.
using Row8 = std::uint16_t __attribute__((vector_size(16)));

Row8 InterleaveLow(Row8 a, Row8 b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
Row8 InterleaveHigh(Row8 a, Row8 b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }

// Interleaving each row with the one four further down, three times over, transposes an 8 x 8 block.
void TransposeBlock8(std::byte* target, const std::byte* source, std::uint64_t pitch) {
    Row8 rows[8];
    Row8 next[8];
    for (int i = 0; i < 8; ++i) {
        std::memcpy(&rows[i], source + i * pitch, sizeof(Row8));
    }
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4; ++i) {
            next[2 * i] = InterleaveLow(rows[i], rows[i + 4]);
            next[2 * i + 1] = InterleaveHigh(rows[i], rows[i + 4]);
        }
        std::memcpy(rows, next, sizeof rows);
    }
    for (int i = 0; i < 8; ++i) {
        std::memcpy(target + i * pitch, &rows[i], sizeof(Row8));
    }
}

}  // namespace

void TransposeFractal16(std::byte* target, const std::byte* source) {
    constexpr std::uint64_t kPitch = 32;
    constexpr std::uint64_t kHalfRow = 16;
    for (std::uint64_t row = 0; row < 2; ++row) {
        for (std::uint64_t column = 0; column < 2; ++column) {
            TransposeBlock8(target + column * 8 * kPitch + row * kHalfRow,
                            source + row * 8 * kPitch + column * kHalfRow, kPitch);
        }
    }
}

void CarryTransposed16(Access& access, const Operand& target, std::uint64_t target_offset, const Operand& source,
                       std::uint64_t source_offset) {
    if (access.AllDefined(source, source_offset, 512)) {
        return;
    }
    for (std::uint64_t row = 0; row < kFractalRows; ++row) {
        for (std::uint64_t column = 0; column < kFractalRows; ++column) {
            access.Carries(target, target_offset + (column * kFractalRows + row) * 2, source,
                           source_offset + (row * kFractalRows + column) * 2, 2);
        }
    }
}

}  // namespace ascend_attention::sim
