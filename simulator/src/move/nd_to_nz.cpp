// SPDX-License-Identifier: Apache-2.0
// DataCopy with Nd2NzParams: row-major matrices in GM become columns of 32-byte groups in L1. Group c of row r lies at
// (c * dstNzC0Stride + r * dstNzNStride) * 32 bytes. A last group that the matrix does not fill is completed with
// zeros; in UB, where the same call makes the same layout, document and headers disagree about it.
#include <algorithm>
#include <cstring>

#include "core/core.h"
#include "machine/move_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

// To UB the call is a loop of DataCopyPad in the device's own headers, which does what the document says for these
// values only.
void RequirePlain(Access& access, const CopyNdToNzCall& copy) {
    access.Require(copy.target.dtype != DType::kFloat32, "dtype", static_cast<int>(copy.target.dtype),
                   "not float to UB (document and headers disagree; not modelled)");
    access.Require(copy.nd_count <= 1, "ndNum", copy.nd_count, "0, 1 to UB (more are not modelled)");
    access.Require(copy.target_row_stride == 1, "dstNzNStride", copy.target_row_stride, "1 to UB");
    access.Require(copy.rows <= 255 || copy.source_row_stride == copy.columns, "srcDValue", copy.source_row_stride,
                   "dValue when more than 255 rows go to UB");
}

void RequireRanges(Access& access, const CopyNdToNzCall& copy) {
    const bool to_ub = copy.target.space == Space::kUb;
    access.Require(to_ub || copy.target.space == Space::kL1, "memory of dst", static_cast<int>(copy.target.space),
                   "L1, UB");
    access.RequireSpace(copy.source, "src", Space::kGlobal);
    access.RequireAligned(copy.target, "dst", kBlockBytes);
    access.Require(copy.element_bytes <= 4, "sizeof(T)", copy.element_bytes, "1, 2 or 4");
    access.Require(copy.nd_count <= 4095, "ndNum", copy.nd_count, "0..4095");
    access.Require(copy.rows <= 16384, "nValue", copy.rows, "0..16384");
    access.Require(copy.columns <= 65535, "dValue", copy.columns, "0..65535");
    access.Require(copy.source_row_stride >= 1 && copy.source_row_stride <= 65535, "srcDValue", copy.source_row_stride,
                   "1..65535");
    access.Require(copy.target_c0_stride >= 1 && copy.target_c0_stride <= 16384, "dstNzC0Stride", copy.target_c0_stride,
                   "1..16384");
    access.Require(copy.target_row_stride >= 1 && copy.target_row_stride <= 16384, "dstNzNStride",
                   copy.target_row_stride, "1..16384");
    access.Require(copy.target_matrix_stride <= 16384, "dstNzMatrixStride", copy.target_matrix_stride, "0..16384");
    access.Require(copy.target_matrix_stride * copy.element_bytes % kBlockBytes == 0 || copy.nd_count <= 1,
                   "dstNzMatrixStride", copy.target_matrix_stride, "a multiple of 32 bytes");
    if (to_ub) {
        RequirePlain(access, copy);
    }
}

// Writes one matrix in 32-byte copies. Four rows at a time: rows and groups often lie a power of two apart, and walking
// far along either would fight over the same few cache sets.
void Rearrange(std::byte* target, const std::byte* source, const CopyNdToNzCall& copy) {
    constexpr std::uint64_t kRowBlock = 4;
    const std::uint64_t row_bytes = std::uint64_t{copy.columns} * copy.element_bytes;
    const std::uint64_t source_stride = std::uint64_t{copy.source_row_stride} * copy.element_bytes;
    const std::uint64_t target_stride = copy.target_row_stride * kBlockBytes;
    const std::uint64_t group_stride = copy.target_c0_stride * kBlockBytes;
    const std::uint64_t full_groups = row_bytes / kBlockBytes;
    const std::uint64_t tail = row_bytes % kBlockBytes;
    for (std::uint64_t first = 0; first < copy.rows; first += kRowBlock) {
        const std::uint64_t rows = std::min(kRowBlock, copy.rows - first);
        const std::byte* from = source + first * source_stride;
        std::byte* to = target + first * target_stride;
        for (std::uint64_t group = 0; group < full_groups; ++group) {
            for (std::uint64_t row = 0; row < rows; ++row) {
                std::memcpy(to + group * group_stride + row * target_stride,
                            from + group * kBlockBytes + row * source_stride, kBlockBytes);
            }
        }
        for (std::uint64_t row = 0; tail != 0 && row < rows; ++row) {
            std::byte* last = to + full_groups * group_stride + row * target_stride;
            std::memcpy(last, from + full_groups * kBlockBytes + row * source_stride, tail);
            std::memset(last + tail, 0, kBlockBytes - tail);
        }
    }
}

void CarryGroups(Access& access, const CopyNdToNzCall& copy, std::uint64_t target_offset, std::uint64_t source_offset) {
    const std::uint64_t row_bytes = std::uint64_t{copy.columns} * copy.element_bytes;
    for (std::uint64_t row = 0; row < copy.rows; ++row) {
        if (access.AllDefined(copy.source, source_offset + row * copy.source_row_stride * copy.element_bytes,
                              row_bytes)) {
            continue;
        }
        for (std::uint64_t at = 0; at < row_bytes; at += kBlockBytes) {
            access.Carries(copy.target,
                           target_offset + at * copy.target_c0_stride + row * copy.target_row_stride * kBlockBytes,
                           copy.source, source_offset + row * copy.source_row_stride * copy.element_bytes + at,
                           std::min(kBlockBytes, row_bytes - at));
        }
    }
}

// Rows that follow each other without a gap come as one piece of memory; others cost by the row.
constexpr CostRows kCosts{"DataCopy ND2NZ",
                          "DataCopy ND2NZ rows of 512",
                          "DataCopy ND2NZ rows of 256",
                          "DataCopy ND2NZ rows of 128",
                          "DataCopy ND2NZ rows of 32",
                          "DataCopy ND2NZ rows unaligned"};

}  // namespace

void Execute(const CopyNdToNzCall& copy) {
    const Call call{"DataCopy", Pipe::kMte2, copy.site};
    Access access(CurrentCore(), call);
    RequireRanges(access, copy);
    if (copy.nd_count == 0 || copy.rows == 0 || copy.columns == 0) {
        return;
    }
    const std::uint64_t row_bytes = std::uint64_t{copy.columns} * copy.element_bytes;
    const std::uint64_t groups = CeilDivide(row_bytes, kBlockBytes);
    const std::uint64_t source_row = std::uint64_t{copy.source_row_stride} * copy.element_bytes;
    // With one matrix the strides between matrices mean nothing.
    const std::uint64_t source_matrix = std::uint64_t{copy.source_matrix_stride} * copy.element_bytes;
    const std::uint64_t target_matrix = std::uint64_t{copy.target_matrix_stride} * copy.element_bytes;
    access.CostsAs(kCosts, std::uint64_t{copy.nd_count} * copy.rows);

    const Region source_region = copy.nd_count == 1
                                     ? Pieces(0, row_bytes, copy.rows, source_row)
                                     : Region{0, row_bytes, copy.rows, source_row, copy.nd_count, source_matrix};
    const std::byte* data = access.ReadsToCarry(copy.source, "src", source_region);
    std::byte* result = nullptr;
    for (std::uint64_t nd = 0; nd < copy.nd_count; ++nd) {
        Region region{nd * target_matrix, copy.rows * kBlockBytes, groups, copy.target_c0_stride * kBlockBytes};
        if (copy.target_row_stride != 1) {
            region = Region{nd * target_matrix,
                            kBlockBytes,
                            copy.rows,
                            copy.target_row_stride * kBlockBytes,
                            groups,
                            copy.target_c0_stride * kBlockBytes};
        }
        result = access.Writes(copy.target, "dst", region);
    }
    for (std::uint64_t nd = 0; nd < copy.nd_count; ++nd) {
        Rearrange(result + nd * target_matrix, data + nd * source_matrix, copy);
        if (access.ChecksInitialisation()) {
            CarryGroups(access, copy, nd * target_matrix, nd * source_matrix);
        }
    }
    const std::uint64_t tail = row_bytes % kBlockBytes;
    if (copy.target.space == Space::kUb && tail != 0) {
        const std::uint64_t last = (groups - 1) * copy.target_c0_stride * kBlockBytes + tail;
        for (std::uint64_t row = 0; row < copy.rows; ++row) {
            Poison(result + last + row * kBlockBytes, kBlockBytes - tail);
        }
        access.Undefines(copy.target, Region{last, kBlockBytes - tail, copy.rows, kBlockBytes});
    }
}

}  // namespace ascend_attention::sim
