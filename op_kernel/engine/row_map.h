// SPDX-License-Identifier: Apache-2.0
// From the rows of a tile to global memory. A row is a query position of one head, or, when the heads of a group are
// folded, of one of several heads; a layout is only a pair of strides. Rows at a constant distance form a run, and a
// run is what one copy instruction moves.
#pragma once

#include "engine/arithmetic.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

struct RowRun {
    int64_t offset;  // element offset of the run's first row
    int64_t stride;  // elements between two rows
    int32_t count;
};

class RowMap {
public:
    __aicore__ inline RowMap(const AttentionPlan& plan, const SequencePlan& sequence, const HeadStrides& strides,
                             int64_t sequence_offset, uint32_t head) {
        base_ = sequence_offset + int64_t(head) * plan.group_fold * strides.head;
        if (plan.row_order == RowOrder::kTokenMajor) {
            inner_count_ = int32_t(plan.group_fold);
            inner_stride_ = strides.head;
            outer_stride_ = strides.row;
        } else {
            inner_count_ = sequence.query_length;
            inner_stride_ = strides.row;
            outer_stride_ = strides.head;
        }
    }

    // The longest run that starts at `row` and has at most `limit` rows.
    __aicore__ inline RowRun RunAt(int32_t row, int32_t limit) const {
        const int32_t outer = row / inner_count_;
        const int32_t inner = row - outer * inner_count_;
        RowRun run{base_ + outer * outer_stride_ + inner * inner_stride_, inner_stride_, limit};
        if (inner_count_ == 1) {
            run.stride = outer_stride_;
        } else if (outer_stride_ != inner_count_ * inner_stride_) {
            run.count = Min(limit, inner_count_ - inner);
        }
        return run;
    }

private:
    int64_t base_;
    int64_t inner_stride_;
    int64_t outer_stride_;
    int32_t inner_count_;
};

// Rows of a run that one DataCopyPad moves: it takes the gap between two rows in 32 bits.
__aicore__ inline int32_t RowsOfCopy(const RowRun& run, int64_t gap_bytes) {
    return gap_bytes <= int64_t(UINT32_MAX) ? run.count : 1;
}

// Query position of a row.
__aicore__ inline int32_t RowPosition(const AttentionPlan& plan, const SequencePlan& sequence, int32_t row) {
    return plan.row_order == RowOrder::kTokenMajor ? row / int32_t(plan.group_fold) : row % sequence.query_length;
}

}  // namespace ascend_attention
