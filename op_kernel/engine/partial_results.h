// SPDX-License-Identifier: Apache-2.0
// Where the partial results of split row tiles lie, in floats from the start of their part of the workspace.
#pragma once

#include "engine/kernel_arguments.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

class PartialResults {
public:
    __aicore__ inline PartialResults(const AttentionPlan& plan, const KernelArguments& arguments)
        : columns_(int32_t(PartColumns(plan.value_head_dim))) {
        floats_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(arguments.workspace + plan.workspace_parts));
    }

    __aicore__ inline int64_t Slot(uint32_t core, int32_t slot) const {
        return (int64_t(core) * kPartSlots + slot) * SlotFloats();
    }
    // From the slot of one core to the same one of the next.
    __aicore__ inline int64_t CoreStride() const { return kPartSlots * SlotFloats(); }
    __aicore__ inline int64_t Output(int32_t row) const { return int64_t(row) * columns_; }
    __aicore__ inline int64_t Maximum(int32_t row) const { return int64_t(kTileRowsMax) * columns_ + row; }
    __aicore__ inline int64_t Sum(int32_t row) const { return Maximum(row) + kTileRowsMax; }

    __aicore__ inline AscendC::GlobalTensor<float> At(int64_t offset) const { return floats_[offset]; }

private:
    __aicore__ inline int64_t SlotFloats() const { return PartSlotBytes(columns_) / int64_t(sizeof(float)); }

    int32_t columns_;
    AscendC::GlobalTensor<float> floats_;
};

}  // namespace ascend_attention
