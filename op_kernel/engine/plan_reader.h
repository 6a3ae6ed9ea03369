// SPDX-License-Identifier: Apache-2.0
// The plan is read here and nowhere else: in words of 64 bits through the scalar unit's data cache, never by
// dereferencing global memory. Each core type reads its own part; the other fields stay zero.
#pragma once

#include <cstddef>

#include "engine/kernel_arguments.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

class PlanReader {
public:
    __aicore__ inline explicit PlanReader(GM_ADDR plan) : address_(plan) {
        ReadMine(plan_, 0, offsetof(AttentionPlan, query), offsetof(AttentionPlan, output));
    }

    __aicore__ inline const AttentionPlan& Plan() const { return plan_; }

    __aicore__ inline void Sequence(uint32_t index, SequencePlan& sequence) const {
        ReadMine(sequence, sizeof(AttentionPlan) + uint64_t(index) * sizeof(SequencePlan),
                 offsetof(SequencePlan, query), offsetof(SequencePlan, output));
    }

    __aicore__ inline void Range(uint32_t core, CoreRange& range) const {
        Read(range, RangesBegin() + uint64_t(core) * sizeof(CoreRange), 0, sizeof(CoreRange));
    }

    __aicore__ inline void Combine(uint32_t index, CombineTask& task) const {
        const uint64_t begin = RangesBegin() + uint64_t(plan_.core_count) * sizeof(CoreRange);
        Read(task, begin + uint64_t(index) * sizeof(CombineTask), 0, sizeof(CombineTask));
    }

private:
    __aicore__ inline uint64_t RangesBegin() const {
        return sizeof(AttentionPlan) + uint64_t(plan_.sequence_count) * sizeof(SequencePlan);
    }

    using Word = uint64_t __attribute__((may_alias));

    // A record is what both core types need, then from `cube` on the cube cores' part, from `vector` on the vector
    // cores' part.
    template <typename Record>
    __aicore__ inline void ReadMine(Record& record, uint64_t offset, uint32_t cube, uint32_t vector) const {
        Read(record, offset, 0, cube);
        if ASCEND_IS_AIC {
            Read(record, offset, cube, vector);
        }
        if ASCEND_IS_AIV {
            Read(record, offset, vector, sizeof(Record));
        }
    }

    // The bytes [begin, end) of the record at `offset`.
    template <typename Record>
    __aicore__ inline void Read(Record& record, uint64_t offset, uint32_t begin, uint32_t end) const {
        static_assert(sizeof(Record) % sizeof(uint64_t) == 0, "records are whole words");
        AscendC::GlobalTensor<uint64_t> source;
        source.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(address_ + offset),
                               sizeof(Record) / sizeof(uint64_t));
        Word* target = reinterpret_cast<Word*>(&record);
        for (uint32_t i = begin / sizeof(uint64_t); i < end / sizeof(uint64_t); ++i) {
            target[i] = source.GetValue(i);
        }
    }

    GM_ADDR address_;
    AttentionPlan plan_ = {};
};

}  // namespace ascend_attention
