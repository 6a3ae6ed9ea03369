// SPDX-License-Identifier: Apache-2.0
// Where the partial results of split row tiles lie, in floats from the start of the workspace.
#pragma once

#include "engine/arithmetic.h"
#include "engine/kernel_arguments.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

class PartialResults {
public:
    __aicore__ inline PartialResults(const AttentionPlan& plan, const KernelArguments& arguments)
        : slot_(PartSlotBytes(plan.value_head_dim, IsWide(plan)) / int64_t(sizeof(float))),
          pitch_(Min(int32_t(PartColumns(plan.value_head_dim, IsWide(plan))), int32_t(kPartPassColumns))),
          ring_(plan.workspace_core_stride / int64_t(sizeof(float))),
          heads_(plan.workspace_parts / int64_t(sizeof(float))) {
        floats_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(arguments.workspace));
    }

    __aicore__ inline int64_t Slot(uint32_t core, int32_t slot) const {
        return slot == kTailSlot ? int64_t(core) * ring_ : heads_ + int64_t(core) * slot_;
    }
    // From the tail slot of one core to that of the next.
    __aicore__ inline int64_t TailStride() const { return ring_; }
    __aicore__ inline static int64_t Maximum(int32_t row) { return row; }
    __aicore__ inline static int64_t Sum(int32_t row) { return kTileRowsMax + row; }
    // The channels from `pass` * kPartPassColumns on; rows are Pitch() apart.
    __aicore__ inline int64_t Output(int32_t pass, int32_t row) const {
        return 2 * kTileRowsMax + (int64_t(pass) * kTileRowsMax + row) * pitch_;
    }
    __aicore__ inline int32_t Pitch() const { return pitch_; }

    __aicore__ inline AscendC::GlobalTensor<float> At(int64_t offset) const { return floats_[offset]; }

private:
    int64_t slot_;
    int32_t pitch_;
    int64_t ring_;
    int64_t heads_;
    AscendC::GlobalTensor<float> floats_;
};

}  // namespace ascend_attention
