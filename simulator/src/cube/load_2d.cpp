// SPDX-License-Identifier: Apache-2.0
// LoadData with LoadData2DParams: fractals of 512 bytes (16 rows of 32 bytes) from L1 or GM into L0A, L0B or L1, each
// transposed on the way if asked (16-bit types only).
#include <cstring>

#include "core/core.h"
#include "cube/fractal.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

bool IsL0(Space space) { return space == Space::kL0A || space == Space::kL0B; }

void RequireRanges(Access& access, const Load2dCall& load) {
    const bool from_global = load.source.space == Space::kGlobal;
    const bool to_l1 = from_global && load.target.space == Space::kL1;
    access.Require(from_global || load.source.space == Space::kL1, "memory of src", static_cast<int>(load.source.space),
                   "L1, GM");
    access.Require(IsL0(load.target.space) || to_l1, "memory of dst", static_cast<int>(load.target.space),
                   "L0A, L0B, or L1 when src is GM");
    access.Require(load.start_index <= 65535, "startIndex", load.start_index, "0..65535");
    access.Require(load.repeat_times <= 255, "repeatTimes", load.repeat_times, "0..255");
    access.Require(load.source_stride <= 65535, "srcStride", load.source_stride, "0..65535");
    access.Require(load.target_gap <= 65535, "dstGap", load.target_gap, "0..65535");
    access.Require(load.address_mode == 0 || (to_l1 && load.address_mode == 1), "addrMode", load.address_mode,
                   "0 (1 only from GM to L1)");
    access.Require(!load.transpose || (!from_global && Is16Bit(load.target.dtype)), "ifTranspose", load.transpose,
                   "false, except from L1 to L0A or L0B with a 16-bit type");
    access.Require(IsMatrixType(load.target.dtype), "dtype", static_cast<int>(load.target.dtype),
                   "8-bit, 16-bit and 32-bit types, int4b_t");
    access.Require(load.target.dtype != DType::kInt4 || !from_global, "dtype", static_cast<int>(load.target.dtype),
                   "not int4b_t when src is GM");
    access.Require(load.target.dtype == load.source.dtype, "dtype of src", static_cast<int>(load.source.dtype),
                   "the dtype of dst");
    access.RequireAligned(load.target, "dst", IsL0(load.target.space) ? kFractalBytes : kBlockBytes);
    if (!from_global) {
        access.RequireAligned(load.source, "src", kBlockBytes);
    }
}

}  // namespace

void Execute(const Load2dCall& load) {
    const Call call{"LoadData", load.source.space == Space::kGlobal ? Pipe::kMte2 : Pipe::kMte1, load.site};
    Access access(CurrentCore(), call);
    RequireRanges(access, load);
    if (load.repeat_times == 0) {
        return;
    }
    const std::uint64_t count = load.repeat_times;
    const std::uint64_t span = (count - 1) * load.source_stride;
    access.Require(load.address_mode == 0 || span <= load.start_index, "startIndex - srcStride * (repeatTimes - 1)",
                   static_cast<std::int64_t>(load.start_index) - static_cast<std::int64_t>(span), "0 or more");
    // With descending addresses the lowest fractal is the last one.
    const bool descending = load.address_mode == 1;
    const std::uint64_t lowest = (load.start_index - (descending ? span : 0)) * kFractalBytes;
    const std::uint64_t source_stride = load.source_stride * kFractalBytes;
    const std::uint64_t target_stride = (load.target_gap + 1ULL) * kFractalBytes;
    const Region from =
        load.source_stride == 0 ? Region{lowest, kFractalBytes} : Pieces(lowest, kFractalBytes, count, source_stride);
    const std::byte* data = access.ReadsToCarry(load.source, "src", from);
    std::byte* result = access.Writes(load.target, "dst", Pieces(0, kFractalBytes, count, target_stride));

    const bool checks = access.ChecksInitialisation();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t source_offset = lowest + (descending ? count - 1 - i : i) * source_stride;
        const std::uint64_t target_offset = i * target_stride;
        if (load.transpose) {
            TransposeFractal16(result + target_offset, data + source_offset);
            if (checks) {
                CarryTransposed16(access, load.target, target_offset, load.source, source_offset);
            }
        } else {
            std::memcpy(result + target_offset, data + source_offset, kFractalBytes);
            if (checks) {
                access.Carries(load.target, target_offset, load.source, source_offset, kFractalBytes);
            }
        }
    }
}

}  // namespace ascend_attention::sim
