// SPDX-License-Identifier: Apache-2.0
// The plan is read here and nowhere else: in words of 64 bits through the scalar unit's data cache, never by
// dereferencing global memory.
#pragma once

#include "engine/kernel_arguments.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

class PlanReader {
public:
    __aicore__ inline explicit PlanReader(GM_ADDR plan) : address_(plan) { Read(plan_, 0); }

    __aicore__ inline const AttentionPlan& Plan() const { return plan_; }

    __aicore__ inline void Sequence(uint32_t index, SequencePlan& sequence) const {
        Read(sequence, sizeof(AttentionPlan) + uint64_t(index) * sizeof(SequencePlan));
    }

    __aicore__ inline void Range(uint32_t core, CoreRange& range) const {
        Read(range, sizeof(AttentionPlan) + uint64_t(plan_.sequence_count) * sizeof(SequencePlan) +
                        uint64_t(core) * sizeof(CoreRange));
    }

private:
    using Word = uint64_t __attribute__((may_alias));

    template <typename Record>
    __aicore__ inline void Read(Record& record, uint64_t offset) const {
        static_assert(sizeof(Record) % sizeof(uint64_t) == 0, "records are whole words");
        constexpr uint32_t kWords = sizeof(Record) / sizeof(uint64_t);
        AscendC::GlobalTensor<uint64_t> source;
        source.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(address_ + offset), kWords);
        Word* target = reinterpret_cast<Word*>(&record);
        for (uint32_t i = 0; i < kWords; ++i) {
            target[i] = source.GetValue(i);
        }
    }

    GM_ADDR address_;
    AttentionPlan plan_;
};

}  // namespace ascend_attention
