// SPDX-License-Identifier: Apache-2.0
// LoadDataWithTranspose: each step takes a square from L1 (64 x 64 of 4 bits, 32 x 32 of one byte, 16 x 16 otherwise),
// transposes it and writes it as one, two or four fractals of L0A or L0B. A 32-bit square is two neighbouring 16 x 8
// fractals side by side.
#include <cstring>

#include "core/core.h"
#include "cube/fractal.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

struct Square {
    std::uint64_t side;      // elements
    std::uint64_t fractals;  // of both source and result
    std::uint64_t bits;      // of an element
};

Square SquareOf(DType dtype) {
    if (dtype == DType::kInt4) {
        return {64, 4, 4};
    }
    switch (ElementBytes(dtype)) {
        case 1:
            return {32, 2, 8};
        case 2:
            return {16, 1, 16};
        default:
            return {16, 2, 32};
    }
}

// Byte offset of element (row, column) of a square whose fractals start `fractal_step` apart. Rows are 32 bytes;
// squares of 4 and 8 bits stack their fractals, those of 32 bits put them side by side.
std::uint64_t OffsetOf(const Square& square, std::uint64_t row, std::uint64_t column, std::uint64_t fractal_step) {
    const std::uint64_t at = column * square.bits / 8;
    const std::uint64_t fractal = row / kFractalRows + at / kBlockBytes;
    return fractal * fractal_step + row % kFractalRows * kBlockBytes + at % kBlockBytes;
}

void TransposeSquare(std::byte* target, const std::byte* source, const Square& square, std::uint64_t fractal_step) {
    if (square.bits == 16) {
        TransposeFractal16(target, source);
        return;
    }
    for (std::uint64_t row = 0; row < square.side; ++row) {
        for (std::uint64_t column = 0; column < square.side; ++column) {
            const std::byte* from = source + OffsetOf(square, row, column, kFractalBytes);
            std::byte* to = target + OffsetOf(square, column, row, fractal_step);
            if (square.bits == 32) {
                std::memcpy(to, from, 4);
            } else if (square.bits == 8) {
                *to = *from;
            } else {
                const std::byte value = (column % 2 == 0 ? *from : *from >> 4) & std::byte{0xF};
                *to = row % 2 == 0 ? (*to & std::byte{0xF0}) | value : (*to & std::byte{0xF}) | value << 4;
            }
        }
    }
}

void CarrySquare(Access& access, const LoadTransposeCall& load, std::uint64_t to, std::uint64_t from,
                 const Square& square, std::uint64_t fractal_step) {
    if (access.AllDefined(load.source, from, square.fractals * kFractalBytes)) {
        return;
    }
    const std::uint64_t bytes = CeilDivide(square.bits, 8);
    for (std::uint64_t row = 0; row < square.side; ++row) {
        for (std::uint64_t column = 0; column < square.side; ++column) {
            access.Carries(load.target, to + OffsetOf(square, column, row, fractal_step), load.source,
                           from + OffsetOf(square, row, column, kFractalBytes), bytes);
        }
    }
}

void RequireRanges(Access& access, const LoadTransposeCall& load) {
    const DType dtype = load.target.dtype;
    access.RequireSpace(load.source, "src", Space::kL1);
    access.Require(load.target.space == Space::kL0A || load.target.space == Space::kL0B, "memory of dst",
                   static_cast<int>(load.target.space), "L0A, L0B");
    access.Require((dtype != DType::kInt4 || load.target.space == Space::kL0B) && dtype != DType::kInt16 &&
                       dtype != DType::kUint16 && IsMatrixType(dtype),
                   "dtype", static_cast<int>(dtype), "8-bit types, half, bfloat16_t, 32-bit types, and int4b_t to L0B");
    access.Require(load.source.dtype == dtype, "dtype of src", static_cast<int>(load.source.dtype), "the dtype of dst");
    access.Require(load.start_index <= 65535, "startIndex", load.start_index, "0..65535");
    access.Require(load.repeat_times <= 255, "repeatTimes", load.repeat_times, "0..255");
    access.Require(load.source_stride <= 65535, "srcStride", load.source_stride, "0..65535");
    access.Require(load.target_gap <= 65535, "dstGap", load.target_gap, "0..65535");
    access.Require(load.target_fractal_gap <= 65535, "dstFracGap", load.target_fractal_gap, "0..65535");
    access.Require(load.address_mode <= 1, "addrMode", load.address_mode, "0, 1");
    access.RequireAligned(load.target, "dst", kFractalBytes);
    access.RequireAligned(load.source, "src", kBlockBytes);
}

}  // namespace

void Execute(const LoadTransposeCall& load) {
    const Call call{"LoadDataWithTranspose", Pipe::kMte1, load.site};
    Access access(CurrentCore(), call);
    RequireRanges(access, load);
    if (load.repeat_times == 0) {
        return;
    }
    const Square square = SquareOf(load.target.dtype);
    const std::uint64_t square_bytes = square.fractals * kFractalBytes;
    const std::uint64_t count = load.repeat_times;
    const std::uint64_t span = (count - 1) * load.source_stride;
    const bool descending = load.address_mode == 1;
    access.Require(!descending || span <= load.start_index, "startIndex - srcStride * (repeatTimes - 1)",
                   static_cast<std::int64_t>(load.start_index) - static_cast<std::int64_t>(span), "0 or more");
    const std::uint64_t lowest = (load.start_index - (descending ? span : 0)) * square_bytes;
    const std::uint64_t source_stride = load.source_stride * square_bytes;
    const std::uint64_t target_stride = (load.target_gap + 1ULL) * kFractalBytes;
    const std::uint64_t fractal_step = (load.target_fractal_gap + 1ULL) * kFractalBytes;
    const std::byte* data = access.ReadsToCarry(
        load.source, "src",
        source_stride == 0 ? Region{lowest, square_bytes} : Pieces(lowest, square_bytes, count, source_stride));
    std::byte* result = nullptr;
    for (std::uint64_t fractal = 0; fractal < square.fractals; ++fractal) {
        result = access.Writes(load.target, "dst", Pieces(fractal * fractal_step, kFractalBytes, count, target_stride));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t from = lowest + (descending ? count - 1 - i : i) * source_stride;
        const std::uint64_t to = i * target_stride;
        TransposeSquare(result + to, data + from, square, fractal_step);
        if (access.ChecksInitialisation()) {
            CarrySquare(access, load, to, from, square, fractal_step);
        }
    }
}

}  // namespace ascend_attention::sim
