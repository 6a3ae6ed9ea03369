// SPDX-License-Identifier: Apache-2.0
// DataCopy of 32-byte blocks: with DataCopyParams and with an element count.
#include <cstring>

#include "core/core.h"
#include "machine/move_calls.h"
#include "move/blocks.h"
#include "move/regions.h"
#include "numerics/half.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kBiasUnit = 64;
constexpr std::uint64_t kFixpipeUnit = 128;

constexpr const char* kPaths =
    "GM-UB, GM-L1, UB-GM, L1-GM, UB-UB, L1-BT, L1-FB (UB-L1 through a Matmul object and L1-L0C are not modelled)";

// What one path of the machine moves: the pipe that does it and the units of its parameters, in bytes.
struct Path {
    Pipe pipe;
    std::uint64_t block = kBlockBytes;
    std::uint64_t source_gap = kBlockBytes;
    std::uint64_t target_gap = kBlockBytes;
    bool gap_is_pitch = false;  // distance between block starts instead of end to start (Fixpipe buffer)
    bool exists = true;
};

Path PathOf(Space source, Space target) {
    if (source == Space::kGlobal && (target == Space::kUb || target == Space::kL1)) {
        return {Pipe::kMte2};
    }
    if (target == Space::kGlobal && (source == Space::kUb || source == Space::kL1)) {
        return {Pipe::kMte3};
    }
    if (source == Space::kUb && target == Space::kUb) {
        return {Pipe::kVector};
    }
    if (source == Space::kL1 && target == Space::kBias) {
        return {Pipe::kMte1, kBiasUnit, kBlockBytes, kBiasUnit};
    }
    if (source == Space::kL1 && target == Space::kFixpipe) {
        return {Pipe::kFixpipe, kFixpipeUnit, kBlockBytes, kFixpipeUnit, true};
    }
    return {Pipe::kScalar, kBlockBytes, kBlockBytes, kBlockBytes, false, false};
}

void RequireAlignment(Access& access, const Operand& operand, const char* name, bool ub_side,
                      std::uint32_t element_bytes) {
    switch (operand.space) {
        case Space::kGlobal:
            // Between GM and UB addresses are aligned to the element; from GM to L1 any byte will do.
            if (ub_side) {
                access.RequireAligned(operand, name, element_bytes);
            }
            break;
        case Space::kBias:
            access.RequireAligned(operand, name, kBiasUnit);
            break;
        case Space::kFixpipe:
            access.RequireAligned(operand, name, kFixpipeUnit);
            break;
        default:
            access.RequireAligned(operand, name, kBlockBytes);
            break;
    }
}

// half in L1 becomes float in the bias table. A unit is 16 values: 32 bytes there, 64 here.
void Widen(Access& access, const CopyBlocksCall& copy) {
    const std::uint64_t values = copy.block_len * kBiasUnit / 4;
    const std::uint64_t source_stride = values * 2 + copy.source_gap * kBlockBytes;
    const std::uint64_t target_stride = values * 4 + copy.target_gap * kBiasUnit;
    const std::byte* data = access.Reads(copy.source, "src", Pieces(0, values * 2, copy.block_count, source_stride));
    std::byte* result = access.Writes(copy.target, "dst", Pieces(0, values * 4, copy.block_count, target_stride));
    for (std::uint64_t block = 0; block < copy.block_count; ++block) {
        HalfToFloat(reinterpret_cast<float*>(result + block * target_stride),
                    reinterpret_cast<const std::uint16_t*>(data + block * source_stride), values);
    }
}

}  // namespace

void Execute(const CopyBlocksCall& copy) {
    const Path path = PathOf(copy.source.space, copy.target.space);
    const Call call{"DataCopy", path.pipe, copy.site};
    Access access(CurrentCore(), call);
    access.Require(path.exists, "path of the copy", static_cast<int>(copy.target.space), kPaths);
    access.Require(copy.block_count <= 4095, "blockCount", copy.block_count, "0..4095");
    access.Require(copy.block_len <= 65535, "blockLen", copy.block_len, "0..65535");
    access.Require(copy.source_gap <= 65535, "srcStride", copy.source_gap, "0..65535");
    access.Require(copy.target_gap <= 65535, "dstStride", copy.target_gap, "0..65535");
    const bool ub_side = copy.source.space == Space::kUb || copy.target.space == Space::kUb;
    RequireAlignment(access, copy.target, "dst", ub_side, copy.element_bytes);
    RequireAlignment(access, copy.source, "src", ub_side, copy.element_bytes);
    if (copy.block_count == 0 || copy.block_len == 0) {
        return;
    }
    const bool widens = copy.target.space == Space::kBias && copy.source.dtype == DType::kFloat16 &&
                        copy.target.dtype == DType::kFloat32;
    access.Require(widens || copy.source.dtype == copy.target.dtype, "dtype of src",
                   static_cast<int>(copy.source.dtype), "the dtype of dst; half for float in the bias table");
    if (widens) {
        Widen(access, copy);
        return;
    }
    Blocks blocks{};
    blocks.bytes = copy.block_len * path.block;
    blocks.count = copy.block_count;
    const std::uint64_t body = path.gap_is_pitch ? 0 : blocks.bytes;
    blocks.source_stride = body + copy.source_gap * path.source_gap;
    blocks.target_stride = body + copy.target_gap * path.target_gap;
    MoveBlocks(access, copy.target, copy.source, blocks);
}

void Execute(const CopyCountCall& copy) {
    const Path path = PathOf(copy.source.space, copy.target.space);
    const Call call{"DataCopy", path.pipe, copy.site};
    Access access(CurrentCore(), call);
    access.Require(path.exists, "path of the copy", static_cast<int>(copy.target.space), kPaths);
    const std::uint64_t bytes = std::uint64_t{copy.count} * copy.element_bytes;
    // The machine would round down to whole blocks and leave the rest out without a word.
    access.Require(bytes % kBlockBytes == 0, "count * sizeof(T)", static_cast<std::int64_t>(bytes),
                   "a multiple of 32 bytes (DataCopyPad moves other lengths)");
    const bool ub_side = copy.source.space == Space::kUb || copy.target.space == Space::kUb;
    RequireAlignment(access, copy.target, "dst", ub_side, copy.element_bytes);
    RequireAlignment(access, copy.source, "src", ub_side, copy.element_bytes);
    if (bytes == 0) {
        return;
    }
    MoveBlocks(access, copy.target, copy.source, Blocks{bytes, 1, bytes, bytes});
}

}  // namespace ascend_attention::sim
