// SPDX-License-Identifier: Apache-2.0
#include "move/blocks.h"

#include <cstring>

#include "core/core.h"
#include "move/global_store.h"
#include "move/regions.h"

namespace ascend_attention::sim {

void MoveBlocks(Access& access, const Operand& target, const Operand& source, const Blocks& blocks) {
    const Region from = Pieces(0, blocks.bytes, blocks.count, blocks.source_stride);
    const Region to = Pieces(0, blocks.bytes, blocks.count, blocks.target_stride);
    const bool contiguous = from.count0 == 1 && to.count0 == 1;
    const std::uint64_t count = contiguous ? 1 : blocks.count;
    const std::uint64_t bytes = contiguous ? from.bytes : blocks.bytes;

    if (target.space == Space::kGlobal) {
        const bool atomic = access.core().state.atomic.mode != AtomicMode::kNone;
        const std::byte* data = atomic ? access.Reads(source, "src", from) : access.ReadsToCarry(source, "src", from);
        const GlobalStore store(access, target, "dst", to);
        for (std::uint64_t i = 0; i < count; ++i) {
            store.Put(i * blocks.target_stride, data + i * blocks.source_stride, bytes);
        }
        if (atomic) {
            return;
        }
    } else {
        const std::byte* data = access.ReadsToCarry(source, "src", from);
        std::byte* result = access.Writes(target, "dst", to);
        for (std::uint64_t i = 0; i < count; ++i) {
            std::memmove(result + i * blocks.target_stride, data + i * blocks.source_stride, bytes);
        }
    }
    if (access.ChecksInitialisation()) {
        for (std::uint64_t i = 0; i < count; ++i) {
            access.Carries(target, i * blocks.target_stride, source, i * blocks.source_stride, bytes);
        }
    }
}

}  // namespace ascend_attention::sim
