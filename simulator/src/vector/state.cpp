// SPDX-License-Identifier: Apache-2.0
// The mask register, its mode, the dequantisation register: set by the scalar unit, in program order with it. And the
// registers in which a vector instruction leaves a result for the scalar unit.
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
    core.state.dequantisation = DequantisationState{};
}

void SetDequantisationConfig(const Call& head, std::uint64_t config) {
    Core& core = CurrentCore();
    const Access access(core, head);
    core.state.dequantisation = {DequantisationState::Kind::kConfig, config, Operand{}};
}

void SetDequantisationVector(const Call& head, const Operand& configs) {
    Core& core = CurrentCore();
    Access access(core, head);
    access.Require(configs.dtype == DType::kUint64 || configs.dtype == DType::kInt64, "vdeq dtype",
                   static_cast<std::int64_t>(configs.dtype), "uint64");
    access.RequireSpace(configs, "vdeq", Space::kUb);
    access.RequireAligned(configs, "vdeq", kBlockBytes);
    core.state.dequantisation = {DequantisationState::Kind::kVector, 0, configs};
}

namespace {

std::uint64_t ReadReduction(Access& access, const ReductionRegister& reduction, DType dtype, const char* allowed) {
    access.Require(reduction.specified, "the reduction before", 0, allowed);
    access.Require(reduction.dtype == dtype, "T", static_cast<std::int64_t>(dtype),
                   "the element type of the reduction");
    return reduction.value | static_cast<std::uint64_t>(reduction.index) << 32;
}

}  // namespace

std::uint64_t ReadReducedExtreme(const Call& head, DType dtype) {
    Access access(CurrentCore(), head);
    access.ReadsRegister(VectorRegister::kExtreme, "the extreme");
    return ReadReduction(access, access.core().state.extreme, dtype,
                         "a maximum or minimum of packed repeats (source strides 1 and 8), not in counter mode");
}

std::uint64_t ReadReducedSum(const Call& head, DType dtype) {
    Access access(CurrentCore(), head);
    access.ReadsRegister(VectorRegister::kSum, "the sum");
    return ReadReduction(access, access.core().state.sum, dtype, "a ReduceSum of the element-count form");
}

std::uint64_t ReadGatheredCount(const Call& head) {
    Access access(CurrentCore(), head);
    access.Looks();
    return access.core().state.gathered_count;
}

std::uint64_t ReadMergedCounts(const Call& head) {
    Access access(CurrentCore(), head);
    access.ReadsRegister(VectorRegister::kMerged, "the counts");
    return access.core().state.merged_counts;
}

}  // namespace ascend_attention::sim
