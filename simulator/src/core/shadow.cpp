// SPDX-License-Identifier: Apache-2.0
#include "core/shadow.h"

namespace ascend_attention::sim {

BufferShadow::BufferShadow(const GlobalRegion& source)
    : region(&source), tracked(source.writable || !source.initialised) {
    if (tracked) {
        const std::uint64_t granules = (source.end - source.begin + kGranule - 1) / kGranule;
        heads = LazyArray<std::uint32_t>(granules);
        flipped = LazyArray<std::uint32_t>(granules);
    }
}

}  // namespace ascend_attention::sim
