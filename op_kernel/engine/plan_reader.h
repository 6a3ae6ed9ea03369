// SPDX-License-Identifier: Apache-2.0
// The plan is read here and nowhere else: in words of 64 bits through the scalar unit's data cache, never by
// dereferencing global memory. Each core type reads its own part, and of that what the request has; the other fields
// stay zero.
#pragma once

#include <cstddef>

#include "engine/kernel_arguments.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

__aicore__ inline bool IsPaged(KeyPlacement placement) {
    return placement == KeyPlacement::kPagedRows || placement == KeyPlacement::kPagedNz;
}
__aicore__ inline bool HasBlocks(KeyPlacement placement) {
    return IsPaged(placement) || placement == KeyPlacement::kSelected;
}

class PlanReader {
public:
    __aicore__ inline explicit PlanReader(GM_ADDR plan) : address_(plan) {
        Read(plan_, 0, 0, offsetof(AttentionPlan, query));
        if ASCEND_IS_AIC {
            Read(plan_, 0, offsetof(AttentionPlan, query), offsetof(AttentionPlan, query_rope));
            if (plan_.rope_dim != 0) {
                Read(plan_, 0, offsetof(AttentionPlan, query_rope), offsetof(AttentionPlan, key_block));
            }
            if (HasBlocks(plan_.key_placement)) {
                Read(plan_, 0, offsetof(AttentionPlan, key_block), offsetof(AttentionPlan, has_mask));
            }
        }
        if ASCEND_IS_AIV {
            Read(plan_, 0, offsetof(AttentionPlan, has_mask), offsetof(AttentionPlan, selected));
        }
        if (plan_.key_placement == KeyPlacement::kSelected) {
            Read(plan_, 0, offsetof(AttentionPlan, selected), sizeof(AttentionPlan));
        }
    }

    __aicore__ inline const AttentionPlan& Plan() const { return plan_; }

    __aicore__ inline void Sequence(uint32_t index, SequencePlan& sequence) const {
        const uint64_t offset = sizeof(AttentionPlan) + uint64_t(index) * sizeof(SequencePlan);
        Read(sequence, offset, 0, offsetof(SequencePlan, query));
        if ASCEND_IS_AIC {
            Read(sequence, offset, offsetof(SequencePlan, query), offsetof(SequencePlan, query_rope));
            if (plan_.rope_dim != 0) {
                Read(sequence, offset, offsetof(SequencePlan, query_rope), offsetof(SequencePlan, key_list));
            }
            if (plan_.key_placement == KeyPlacement::kList) {
                Read(sequence, offset, offsetof(SequencePlan, key_list), offsetof(SequencePlan, output));
            }
        }
        if ASCEND_IS_AIV {
            Read(sequence, offset, offsetof(SequencePlan, output), offsetof(SequencePlan, map));
        }
        if (plan_.key_placement == KeyPlacement::kSelected) {
            Read(sequence, offset, offsetof(SequencePlan, map), sizeof(SequencePlan));
        }
    }

    // Which sequence has the key list `list`.
    __aicore__ inline uint32_t SequenceOfList(uint32_t list) const {
        uint32_t first = 0;
        for (uint32_t count = plan_.sequence_count; count > 1;) {
            const uint32_t half = count / 2;
            if (FirstListOf(first + half) <= list) {
                first += half;
                count -= half;
            } else {
                count = half;
            }
        }
        return first;
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

    __aicore__ inline uint32_t FirstListOf(uint32_t index) const {
        AscendC::GlobalTensor<uint32_t> source;
        source.SetGlobalBuffer(reinterpret_cast<__gm__ uint32_t*>(address_ + sizeof(AttentionPlan) +
                                                                  uint64_t(index) * sizeof(SequencePlan)));
        return source.GetValue(offsetof(SequencePlan, first_list) / sizeof(uint32_t));
    }

    using Word = uint64_t __attribute__((may_alias));

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

// Which block of a paged cache holds which keys; read like the plan.
class BlockTable {
public:
    __aicore__ inline explicit BlockTable(GM_ADDR table) {
        blocks_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(table));
    }
    __aicore__ inline int64_t Block(int64_t entry) const { return blocks_.GetValue(uint64_t(entry)); }

private:
    AscendC::GlobalTensor<int32_t> blocks_;
};

// The addresses of tensors in a list; read like the plan.
class AddressList {
public:
    __aicore__ inline explicit AddressList(GM_ADDR list) {
        addresses_.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(list));
    }
    __aicore__ inline GM_ADDR Address(int64_t entry) const {
        return reinterpret_cast<GM_ADDR>(addresses_.GetValue(uint64_t(entry)));
    }

private:
    AscendC::GlobalTensor<uint64_t> addresses_;
};

}  // namespace ascend_attention
