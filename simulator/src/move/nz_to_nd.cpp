// SPDX-License-Identifier: Apache-2.0
// DataCopy with Nz2NdParamsFull: columns of 16 x 16 fractals in UB become row-major matrices in GM.
#include "core/core.h"
#include "machine/move_calls.h"
#include "move/global_store.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kColumns = 16;

void RequireRanges(Access& access, const CopyNzToNdCall& copy) {
    access.RequireSpace(copy.source, "src", Space::kUb);
    access.RequireSpace(copy.target, "dst", Space::kGlobal);
    access.RequireAligned(copy.source, "src", kBlockBytes);
    access.Require(copy.element_bytes == 2 || copy.element_bytes == 4, "sizeof(T)", copy.element_bytes, "2 or 4");
    access.Require(copy.nd_count <= 4095, "ndNum", copy.nd_count, "0..4095");
    access.Require(copy.rows >= 1 && copy.rows <= 8192, "nValue", copy.rows, "1..8192");
    access.Require(copy.columns >= 1 && copy.columns <= 8192 && copy.columns % kColumns == 0, "dValue", copy.columns,
                   "16..8192, a multiple of 16");
    access.Require(copy.source_matrix_stride >= 1 && copy.source_matrix_stride <= 512, "srcNdMatrixStride",
                   copy.source_matrix_stride, "1..512");
    access.Require(copy.source_column_stride <= 4096, "srcNStride", copy.source_column_stride, "0..4096");
    access.Require(copy.target_row_stride >= 1 && copy.target_row_stride <= 65535, "dstDStride", copy.target_row_stride,
                   "1..65535");
    access.Require(copy.target_row_stride >= copy.columns || copy.rows == 1, "dstDStride", copy.target_row_stride,
                   "dValue or more: rows of the result must not overlap");
    access.Require(copy.target_matrix_stride >= 1 && copy.target_matrix_stride <= 65535, "dstNdMatrixStride",
                   copy.target_matrix_stride, "1..65535");
}

}  // namespace

void Execute(const CopyNzToNdCall& copy) {
    const Call call{"DataCopy", Pipe::kMte3, copy.site};
    Access access(CurrentCore(), call);
    RequireRanges(access, copy);
    if (copy.nd_count == 0) {
        return;
    }
    const std::uint64_t size = copy.element_bytes;
    const std::uint64_t piece = kColumns * size;
    const std::uint64_t strips = copy.columns / kColumns;
    const std::uint64_t strip = copy.source_column_stride * piece;
    const std::uint64_t source_matrix = copy.source_matrix_stride * kColumns * piece;
    const std::uint64_t target_row = copy.target_row_stride * size;
    const std::uint64_t target_matrix = copy.target_matrix_stride * size;
    const Region from{0, copy.rows * piece, strips, strip, copy.nd_count, source_matrix};
    const bool atomic = access.core().state.atomic.mode != AtomicMode::kNone;
    const std::byte* data =
        atomic ? access.Reads(copy.source, "src", from) : access.ReadsToCarry(copy.source, "src", from);
    const GlobalStore store(access, copy.target, "dst",
                            Region{0, copy.columns * size, copy.rows, target_row, copy.nd_count, target_matrix});
    for (std::uint64_t nd = 0; nd < copy.nd_count; ++nd) {
        for (std::uint64_t column = 0; column < strips; ++column) {
            for (std::uint64_t row = 0; row < copy.rows; ++row) {
                const std::uint64_t source_at = nd * source_matrix + column * strip + row * piece;
                const std::uint64_t target_at = nd * target_matrix + row * target_row + column * piece;
                store.Put(target_at, data + source_at, piece);
                if (!atomic && access.ChecksInitialisation()) {
                    access.Carries(copy.target, target_at, copy.source, source_at, piece);
                }
            }
        }
    }
}

}  // namespace ascend_attention::sim
