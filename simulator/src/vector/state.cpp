// SPDX-License-Identifier: Apache-2.0
// The mask register, its mode, and Cast's scale: set by the scalar unit, in program order with it.
#include "core/core.h"
#include "vector/lanes.h"

namespace ascend_attention::sim {

void SetMaskMode(const Call& head, bool counter) {
    Core& core = CurrentCore();
    const Access access(core, head);
    core.state.mask.counter_mode = counter;
}

void SetMaskBits(const Call& head, std::uint64_t low, std::uint64_t high) {
    Core& core = CurrentCore();
    const Access access(core, head);
    core.state.mask.mask = {low, high};
    core.state.mask.specified = true;
}

void SetMaskLanes(const Call& head, std::int64_t lanes, std::uint32_t element_bytes, bool counter) {
    Core& core = CurrentCore();
    Access access(core, head);
    access.Require(lanes >= 0, "len", lanes, "0 or more");
    auto low = static_cast<std::uint64_t>(lanes);
    std::uint64_t high = 0;
    if (!counter) {
        const std::int64_t most = element_bytes == 0 ? kMaxLanes : kRepeatBytes / element_bytes;
        access.Require(lanes <= (most < kMaxLanes ? most : kMaxLanes), "len", lanes,
                       "0..lanes of one repeat (128 of 16 bits, 64 of 32 bits, 32 of 64 bits)");
        high = lanes <= 64 ? 0 : lanes == 128 ? ~std::uint64_t{0} : (std::uint64_t{1} << (lanes - 64)) - 1;
        low = lanes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1;
    }
    core.state.mask.mask = {low, high};
    core.state.mask.specified = true;
}

void ResetMaskBits(const Call& head) { SetMaskBits(head, ~std::uint64_t{0}, ~std::uint64_t{0}); }

void SetDequantisationScale(const Call& head, float scale) {
    Core& core = CurrentCore();
    const Access access(core, head);
    core.state.deq_scale = scale;
}

}  // namespace ascend_attention::sim
