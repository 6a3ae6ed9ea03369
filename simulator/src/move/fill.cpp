// SPDX-License-Identifier: Apache-2.0
// InitConstValue / Fill on L1, L0A and L0B, and InitOutput on global memory.
#include <algorithm>

#include "core/core.h"
#include "machine/move_calls.h"
#include "move/global_store.h"
#include "move/regions.h"

namespace ascend_attention::sim {

void Execute(const InitConstCall& fill) {
    const bool in_l1 = fill.target.space == Space::kL1;
    const Call call{fill.name, in_l1 ? Pipe::kMte2 : Pipe::kMte1, fill.site};
    Access access(CurrentCore(), call);
    access.Require(in_l1 || fill.target.space == Space::kL0A || fill.target.space == Space::kL0B, "memory of dst",
                   static_cast<int>(fill.target.space), "L1, L0A, L0B");
    access.Require(fill.element_bytes == 2 || fill.element_bytes == 4, "sizeof(T)", fill.element_bytes,
                   "2 or 4 (int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float)");
    access.Require(fill.repeat_times <= 32767, "repeatTimes", fill.repeat_times, "0..32767");
    access.Require(fill.block_count <= 32767, "blockNum", fill.block_count, "0..32767");
    access.Require(fill.target_gap <= 32767, "dstGap", fill.target_gap, "0..32767");
    const std::uint64_t unit = in_l1 ? kBlockBytes : kFractalBytes;
    access.RequireAligned(fill.target, "dst", unit);
    if (fill.repeat_times == 0 || fill.block_count == 0) {
        return;
    }
    const std::uint64_t bytes = fill.block_count * unit;
    const std::uint64_t stride = bytes + fill.target_gap * unit;
    std::byte* result = access.Writes(fill.target, "dst", Pieces(0, bytes, fill.repeat_times, stride));
    for (std::uint64_t repeat = 0; repeat < fill.repeat_times; ++repeat) {
        FillPattern(result + repeat * stride, bytes, fill.value, fill.element_bytes);
    }
}

// On the device this call is Duplicate into free UB and a row of MTE3 stores; what a kernel can observe is the stores.
void Execute(const InitOutputCall& fill) {
    const Call call{fill.name, Pipe::kMte3, fill.site};
    Access access(CurrentCore(), call);
    access.RequireSpace(fill.target, "gmWorkspaceAddr", Space::kGlobal);
    access.Require(fill.element_bytes == 2 || fill.element_bytes == 4, "sizeof(T)", fill.element_bytes,
                   "2 or 4 (uint16_t, int16_t, half, uint32_t, int32_t, float)");
    access.RequireAligned(fill.target, "gmWorkspaceAddr", fill.element_bytes);
    // 2^40 elements would not fit any memory; without the limit the byte count could wrap around.
    access.Require(fill.count <= (std::uint64_t{1} << 40), "size", static_cast<std::int64_t>(fill.count),
                   "an element count");
    if (fill.count == 0) {
        return;
    }
    const std::uint64_t bytes = fill.count * fill.element_bytes;
    const GlobalStore store(access, fill.target, "gmWorkspaceAddr", Region{0, bytes});
    std::byte chunk[4096];
    FillPattern(chunk, sizeof chunk, fill.value, fill.element_bytes);
    for (std::uint64_t at = 0; at < bytes; at += sizeof chunk) {
        store.Put(at, chunk, std::min<std::uint64_t>(sizeof chunk, bytes - at));
    }
}

}  // namespace ascend_attention::sim
