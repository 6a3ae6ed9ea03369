// SPDX-License-Identifier: Apache-2.0
// The order of work on one AI core. Cube and vector cores walk the same plan, so a step means the same tile to both.
// A task is a tile of query rows with all keys it can see; a step is one key tile of a task. Hidden key tiles never
// become steps; a task that sees no key at all becomes one step with `keys == 0`, which only the vector cores act on.
#pragma once

#include "engine/arithmetic.h"
#include "engine/plan_reader.h"
#include "plan/visible_keys.h"

namespace ascend_attention {

struct TileStep {
    SequencePlan sequence;
    uint32_t head;  // of the plan: a query head, or a key head when groups are folded
    uint32_t key_head;
    int32_t row_begin;  // rows of the task within the head
    int32_t rows;
    int32_t key_begin;  // keys of this step
    int32_t keys;
    bool first;  // of its task
    bool last;
    uint32_t task;  // running numbers of tasks and steps that have keys: their parity picks buffers
    uint32_t step;
};

class TileWalk {
public:
    __aicore__ inline TileWalk(const PlanReader& reader, uint32_t core) : reader_(reader) {
        CoreRange range;
        reader_.Range(core, range);
        sequence_index_ = range.sequence;
        head_ = range.head;
        tile_ = int32_t(range.tile);
        tiles_left_ = range.tile_total;
        if (tiles_left_ > 0) {
            reader_.Sequence(sequence_index_, next_sequence_);
        }
    }

    // False when the core's work is done.
    __aicore__ inline bool Next(TileStep& step) {
        if (key_cursor_ < key_end_) {
            current_.first = false;
        } else if (!NextTask()) {
            return false;
        }
        current_.key_begin = key_cursor_;
        current_.keys = Min(key_end_ - key_cursor_, int32_t(reader_.Plan().tile_keys));
        key_cursor_ += current_.keys;
        current_.last = key_cursor_ >= key_end_;
        if (current_.keys > 0) {
            current_.step = steps_++;
        }
        step = current_;
        return true;
    }

private:
    __aicore__ inline bool NextTask() {
        if (tiles_left_ == 0) {
            return false;
        }
        --tiles_left_;
        const AttentionPlan& plan = reader_.Plan();
        current_.sequence = next_sequence_;
        current_.head = head_;
        current_.key_head = head_ / plan.heads_per_key_head;
        current_.row_begin = tile_ * next_sequence_.tile_rows;
        current_.rows = RowsOfTile(next_sequence_, plan.group_fold, tile_);
        current_.first = true;
        const KeySpan keys =
            VisibleKeys(next_sequence_, plan.group_fold, plan.row_order, current_.row_begin, current_.rows);
        key_cursor_ = keys.first;
        key_end_ = Max(keys.first, keys.last);
        if (key_cursor_ < key_end_) {
            current_.task = tasks_++;
        }
        Advance();
        return true;
    }

    __aicore__ inline void Advance() {
        ++tile_;
        while (tiles_left_ > 0 && tile_ >= next_sequence_.tile_count) {
            tile_ = 0;
            ++head_;
            if (head_ == reader_.Plan().head_count) {
                head_ = 0;
                ++sequence_index_;
                reader_.Sequence(sequence_index_, next_sequence_);
            }
        }
    }

    const PlanReader& reader_;
    SequencePlan next_sequence_;
    TileStep current_;
    uint32_t sequence_index_;
    uint32_t head_;
    int32_t tile_;
    uint32_t tiles_left_;
    int32_t key_cursor_ = 0;
    int32_t key_end_ = 0;
    uint32_t tasks_ = 0;
    uint32_t steps_ = 0;
};

}  // namespace ascend_attention
