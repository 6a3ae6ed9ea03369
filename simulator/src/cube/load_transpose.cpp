// SPDX-License-Identifier: Apache-2.0
// LoadDataWithTranspose: each step takes a square from L1 (32 x 32 of one byte, 16 x 16 otherwise), transposes it and
// writes it as one or two fractals of L0A or L0B. A 32-bit square is two neighbouring 16 x 8 fractals side by side.
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
    std::uint64_t element_bytes;
};

Square SquareOf(DType dtype) {
    switch (ElementBytes(dtype)) {
        case 1:
            return {32, 2, 1};
        case 2:
            return {16, 1, 2};
        default:
            return {16, 2, 4};
    }
}

// Byte offset of element (row, column) of a square whose fractals start `fractal_step` apart. Rows are 32 bytes; 8-bit
// squares stack their fractals, 32-bit squares put them side by side.
std::uint64_t OffsetOf(const Square& square, std::uint64_t row, std::uint64_t column, std::uint64_t fractal_step) {
    const std::uint64_t at = column * square.element_bytes;
    const std::uint64_t fractal = row / kFractalRows + at / kBlockBytes;
    return fractal * fractal_step + row % kFractalRows * kBlockBytes + at % kBlockBytes;
}

void RequireRanges(Access& access, const LoadTransposeCall& load) {
    const DType dtype = load.target.dtype;
    access.RequireSpace(load.source, "src", Space::kL1);
    access.Require(load.target.space == Space::kL0A || load.target.space == Space::kL0B, "memory of dst",
                   static_cast<int>(load.target.space), "L0A, L0B");
    access.Require(
        dtype != DType::kInt4 && dtype != DType::kInt16 && dtype != DType::kUint16 && ElementBytes(dtype) < 8, "dtype",
        static_cast<int>(dtype), "8-bit, half, bfloat16_t, 32-bit (int4b_t is not modelled)");
    access.Require(load.source.dtype == dtype, "dtype of src", static_cast<int>(load.source.dtype), "the dtype of dst");
    access.Require(load.start_index <= 65535, "startIndex", load.start_index, "0..65535");
    access.Require(load.repeat_times <= 255, "repeatTimes", load.repeat_times, "0..255");
    access.Require(load.source_stride <= 65535, "srcStride", load.source_stride, "0..65535");
    access.Require(load.target_gap <= 65535, "dstGap", load.target_gap, "0..65535");
    access.Require(load.target_fractal_gap <= 65535, "dstFracGap", load.target_fractal_gap, "0..65535");
    access.Require(load.source_fractal_gap == 0, "srcFracGap", load.source_fractal_gap, "0 on this architecture");
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
        for (std::uint64_t row = 0; row < square.side; ++row) {
            for (std::uint64_t column = 0; column < square.side; ++column) {
                const std::uint64_t source_at = from + OffsetOf(square, row, column, kFractalBytes);
                const std::uint64_t target_at = to + OffsetOf(square, column, row, fractal_step);
                std::memcpy(result + target_at, data + source_at, square.element_bytes);
                if (access.ChecksInitialisation()) {
                    access.Carries(load.target, target_at, load.source, source_at, square.element_bytes);
                }
            }
        }
    }
}

}  // namespace ascend_attention::sim
