// SPDX-License-Identifier: Apache-2.0
// DataCopyPad: blocks of any number of bytes between GM and UB. In UB every block starts at a multiple of 32 bytes.
#include <cstring>

#include "core/core.h"
#include "machine/move_calls.h"
#include "move/global_store.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint32_t kBlockLengthLimit = 2097151;  // 21 bits

void RequireCommon(Access& access, const CopyPadCall& copy) {
    access.Require(copy.block_count <= 4095, "blockCount", copy.block_count, "0..4095");
    access.Require(copy.block_bytes <= kBlockLengthLimit, "blockLen", copy.block_bytes, "0..2097151");
    access.Require(copy.block_bytes % copy.element_bytes == 0, "blockLen", copy.block_bytes, "a multiple of sizeof(T)");
}

// The bytes of one block in UB: left padding, data, right padding, filler up to 32 bytes.
struct PaddedBlock {
    std::uint64_t left = 0;
    std::uint64_t data = 0;
    std::uint64_t total = 0;
    std::uint64_t value = 0;
    bool first_element_fills = false;
    bool filler_defined = false;
};

PaddedBlock DescribeBlock(const CopyPadCall& copy, MachineState& state) {
    PaddedBlock block;
    block.left = std::uint64_t{copy.left_elements} * copy.element_bytes;
    block.data = copy.block_bytes;
    block.total = RoundUp(block.left + block.data + copy.right_elements * copy.element_bytes, kBlockBytes);
    const bool padded = copy.left_elements != 0 || copy.right_elements != 0;
    if (!padded) {
        // The machine repeats the block's first element. The documentation calls that filler, not a value.
        block.first_element_fills = true;
        return block;
    }
    block.value = copy.pad ? copy.pad_value : state.padding_value;
    block.filler_defined = copy.pad || state.padding_specified;
    if (copy.pad) {
        // The call's own value goes through the register SetPadValue writes.
        state.padding_specified = false;
    }
    return block;
}

void Fill(std::byte* target, std::uint64_t bytes, const PaddedBlock& block, const CopyPadCall& copy,
          const std::byte* data) {
    if (bytes == 0) {
        return;
    }
    if (!block.first_element_fills && !block.filler_defined) {
        Poison(target, bytes);
        return;
    }
    std::uint64_t value = block.value;
    if (block.first_element_fills) {
        std::memcpy(&value, data, copy.element_bytes);
    }
    FillPattern(target, bytes, value, copy.element_bytes);
}

void MoveIn(Access& access, const CopyPadCall& copy) {
    RequireCommon(access, copy);
    access.RequireAligned(copy.target, "dst", kBlockBytes);
    const std::uint64_t left = std::uint64_t{copy.left_elements} * copy.element_bytes;
    const std::uint64_t right = std::uint64_t{copy.right_elements} * copy.element_bytes;
    access.Require(left <= kBlockBytes, "leftPadding * sizeof(T)", static_cast<std::int64_t>(left), "0..32 bytes");
    access.Require(right <= kBlockBytes, "rightPadding * sizeof(T)", static_cast<std::int64_t>(right), "0..32 bytes");
    access.Require(copy.element_bytes < 8 || !copy.pad || copy.pad_value == 0, "paddingValue",
                   static_cast<std::int64_t>(copy.pad_value), "0 for 64-bit types");
    if (copy.block_count == 0 || copy.block_bytes == 0) {
        return;
    }
    const PaddedBlock block = DescribeBlock(copy, access.core().state);
    const std::uint64_t source_stride = block.data + copy.source_gap;
    const std::uint64_t target_stride = block.total + copy.target_gap * kBlockBytes;
    const std::byte* data =
        access.ReadsToCarry(copy.source, "src", Pieces(0, block.data, copy.block_count, source_stride));
    std::byte* result = access.Writes(copy.target, "dst", Pieces(0, block.total, copy.block_count, target_stride));

    const std::uint64_t tail = block.total - block.left - block.data;
    for (std::uint64_t i = 0; i < copy.block_count; ++i) {
        const std::byte* from = data + i * source_stride;
        std::byte* to = result + i * target_stride;
        Fill(to, block.left, block, copy, from);
        std::memcpy(to + block.left, from, block.data);
        Fill(to + block.left + block.data, tail, block, copy, from);
    }
    if (!access.ChecksInitialisation()) {
        return;
    }
    for (std::uint64_t i = 0; i < copy.block_count; ++i) {
        access.Carries(copy.target, i * target_stride + block.left, copy.source, i * source_stride, block.data);
    }
    if (!block.filler_defined) {
        if (block.left != 0) {
            access.Undefines(copy.target, Region{0, block.left, copy.block_count, target_stride});
        }
        if (tail != 0) {
            access.Undefines(copy.target, Region{block.left + block.data, tail, copy.block_count, target_stride});
        }
    }
}

void MoveOut(Access& access, const CopyPadCall& copy) {
    RequireCommon(access, copy);
    access.RequireAligned(copy.source, "src", kBlockBytes);
    if (copy.block_count == 0 || copy.block_bytes == 0) {
        return;
    }
    const std::uint64_t bytes = copy.block_bytes;
    const std::uint64_t source_stride = RoundUp(bytes, kBlockBytes) + copy.source_gap * kBlockBytes;
    const std::uint64_t target_stride = bytes + copy.target_gap;
    const Region from = Pieces(0, bytes, copy.block_count, source_stride);
    const bool atomic = access.core().state.atomic.mode != AtomicMode::kNone;
    const std::byte* data =
        atomic ? access.Reads(copy.source, "src", from) : access.ReadsToCarry(copy.source, "src", from);
    const GlobalStore store(access, copy.target, "dst", Pieces(0, bytes, copy.block_count, target_stride));
    for (std::uint64_t i = 0; i < copy.block_count; ++i) {
        store.Put(i * target_stride, data + i * source_stride, bytes);
    }
    if (!atomic && access.ChecksInitialisation()) {
        for (std::uint64_t i = 0; i < copy.block_count; ++i) {
            access.Carries(copy.target, i * target_stride, copy.source, i * source_stride, bytes);
        }
    }
}

}  // namespace

void Execute(const CopyPadCall& copy) {
    const bool in = copy.source.space == Space::kGlobal;
    const Call call{"DataCopyPad", in ? Pipe::kMte2 : Pipe::kMte3, copy.site};
    Access access(CurrentCore(), call);
    if (in) {
        access.RequireSpace(copy.target, "dst", Space::kUb);
        MoveIn(access, copy);
    } else {
        access.RequireSpace(copy.source, "src", Space::kUb);
        access.RequireSpace(copy.target, "dst", Space::kGlobal);
        MoveOut(access, copy);
    }
}

void SetPaddingValue(std::uint64_t bits, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetPadValue", Pipe::kScalar, site};
    Access access(core, call);
    core.state.padding_value = bits;
    core.state.padding_specified = true;
}

}  // namespace ascend_attention::sim
