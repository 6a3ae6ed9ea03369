// SPDX-License-Identifier: Apache-2.0
// The order of work on one AI core. Cube and vector cores walk the same plan, so a step means the same tile to both.
//
// A task is a group of up to two neighbouring tiles of query rows of one head, with all keys that they can see. Its
// keys are cut into key tiles; a step is one row tile against one key tile. All row tiles of a group take the same key
// tile before the next one, so each load of K and V serves the whole group. Hidden steps do not exist; a row tile that
// sees no key at all becomes one step without keys, which only the vector cores act on.
//
// Where keys are selected, a task's keys are those of its list, which are counted as if nothing lay between them; tiles
// of a head are a group when they have the same list.
//
// How a head is cut depends on the head alone: a group that the host has split between two cores is cut into the same
// key tiles on both, so results do not depend on the number of cores.
#pragma once

#include "engine/arithmetic.h"
#include "engine/key_lists.h"
#include "engine/plan_reader.h"
#include "plan/visible_keys.h"

namespace ascend_attention {

constexpr int32_t kNotSplit = -1;
constexpr int32_t kStays = 2;  // the core adds the part of another core to its own
// How many ways to shift the key tiles of a core with wide heads, and how many neighbouring cores shift alike.
constexpr uint32_t kStaggers = kTileKeysMax / kCubeStep;
constexpr uint32_t kStaggeredCores = 2;

struct RowTile {
    int32_t row_begin;  // within the head
    int32_t rows;       // 0: not this core's
    KeySpan keys;       // that its rows can see; of a split row tile those that are this core's
    uint32_t number;    // running number of the core's row tiles that see keys
    int32_t part_slot;  // of a split row tile: where its partial result goes, or kStays; else kNotSplit

    __aicore__ inline bool SeesKeys() const { return rows > 0 && keys.first < keys.last; }
};

struct KeyTile {
    SequencePlan sequence;
    uint32_t head;  // of the plan: a query head, or a key head when groups are folded
    uint32_t key_head;
    uint32_t list;  // of the keys that the rows of the task see, where keys are selected
    RowTile row_tiles[kRowGroupMax];
    int32_t begin;  // keys [begin, end); none in a task none of whose rows sees a key
    int32_t end;
    bool first;  // of its task
    bool ends;   // the core's work: no task follows, not even one without keys

    // Keys of this tile that row tile r takes part in: from the start of a piece of kCubeStep keys, so that the row
    // tiles of a group share pieces, to the last one it sees.
    __aicore__ inline KeySpan KeysOf(int32_t r) const {
        const RowTile& rows = row_tiles[r];
        KeySpan span;
        span.first = Max(begin, rows.keys.first);
        span.last = Min(end, rows.keys.last);
        if (rows.rows == 0 || span.first >= span.last) {
            span.first = span.last = begin;
        } else {
            span.first = begin + (span.first - begin) / kCubeStep * kCubeStep;
        }
        return span;
    }
};

// Up to `size` keys of a key tile that are loaded at once.
struct Granule {
    int32_t begin;
    int32_t end;  // as far as some row tile needs it; begin when none does
    int32_t first_user;
    int32_t last_user;
};

__aicore__ inline Granule GranuleOf(const KeyTile& tile, int32_t index, int32_t size) {
    Granule granule;
    granule.begin = tile.begin + index * size;
    granule.end = granule.begin;
    granule.first_user = kRowGroupMax;
    granule.last_user = -1;
    for (int32_t r = 0; r < kRowGroupMax; ++r) {
        const KeySpan keys = tile.KeysOf(r);
        if (keys.first < granule.begin + size && keys.last > granule.begin) {
            granule.end = Max(granule.end, Min(keys.last, granule.begin + size));
            granule.first_user = Min(granule.first_user, r);
            granule.last_user = r;
        }
    }
    return granule;
}

// How many of the first `count` granules of the tile are loaded.
__aicore__ inline int32_t GranulesUsed(const KeyTile& tile, int32_t count, int32_t size) {
    int32_t used = 0;
    for (int32_t i = 0; i < count; ++i) {
        const Granule granule = GranuleOf(tile, i, size);
        used += granule.end > granule.begin ? 1 : 0;
    }
    return used;
}

class KeyTileWalk {
public:
    __aicore__ inline KeyTileWalk(const PlanReader& reader, const KeyLists& lists, const CoreRange& range,
                                  uint32_t core)
        : reader_(&reader), lists_(&lists) {
        sequence_index_ = range.sequence;
        head_ = range.head;
        tile_ = int32_t(range.tile);
        tiles_left_ = range.tile_total;
        cut_begin_ = range.key_begin;
        cut_end_ = range.key_end;
        merges_ = range.merges != 0;
        stagger_ = int32_t(kStaggers - 1 - core / kStaggeredCores % kStaggers) * kCubeStep;
        if (tiles_left_ > 0) {
            reader.Sequence(sequence_index_, next_sequence_);
        }
    }

    // False when the core's work is done.
    __aicore__ inline bool Next(KeyTile& tile) {
        if (key_cursor_ < key_end_) {
            current_.first = false;
        } else if (!NextTask()) {
            return false;
        }
        current_.begin = key_cursor_;
        const int32_t size = int32_t(reader_->Plan().tile_keys);
        current_.end = Min(key_end_, key_cursor_ + size - (key_cursor_ - key_origin_) % size);
        key_cursor_ = current_.end;
        current_.ends = tiles_left_ == 0 && key_cursor_ >= key_end_;
        tile = current_;
        return true;
    }

private:
    __aicore__ inline bool NextTask() {
        if (tiles_left_ == 0) {
            return false;
        }
        const AttentionPlan& plan = reader_->Plan();
        if (plan.key_placement == KeyPlacement::kSelected) {
            return NextListedTask();
        }
        const SequencePlan& sequence = next_sequence_;
        const int32_t group = int32_t(plan.row_group);
        const int32_t group_begin = tile_ / group * group;
        const int32_t group_end = Min(group_begin + group, sequence.tile_count);
        const int32_t mine_end = Min(group_end, tile_ + int32_t(tiles_left_));
        current_.sequence = sequence;
        current_.head = head_;
        current_.key_head = head_ / plan.heads_per_key_head;
        current_.first = true;
        for (int32_t r = 0; r < kRowGroupMax; ++r) {
            const int32_t tile = group_begin + r;
            RowTile& rows = current_.row_tiles[r];
            rows.rows = 0;
            rows.keys.first = rows.keys.last = 0;
            rows.part_slot = kNotSplit;
            if (tile >= tile_ && tile < mine_end) {
                rows.row_begin = tile * sequence.tile_rows;
                rows.rows = RowsOfTile(sequence, plan.group_fold, tile);
                rows.keys = VisibleKeys(sequence, plan.group_fold, plan.row_order, rows.row_begin, rows.rows);
                rows.number = numbers_;
                numbers_ += rows.SeesKeys() ? 1 : 0;
            }
        }
        const int32_t first_row = group_begin * sequence.tile_rows;
        const int32_t rows =
            (group_end - 1 - group_begin) * sequence.tile_rows + RowsOfTile(sequence, plan.group_fold, group_end - 1);
        KeySpan keys = VisibleKeys(sequence, plan.group_fold, plan.row_order, first_row, rows);
        key_origin_ = keys.first;
        if (group == 1) {
            Cut(current_.row_tiles[0], keys);
        }
        Stagger();
        key_cursor_ = keys.first;
        key_end_ = Max(keys.first, keys.last);
        Advance(mine_end - tile_);
        return true;
    }

    // One row tile, or an even one and the next with the same list.
    __aicore__ inline bool NextListedTask() {
        const AttentionPlan& plan = reader_->Plan();
        const SequencePlan& sequence = next_sequence_;
        const SelectedRows first = SelectedRowsOfTile(sequence, tile_);
        const uint32_t head_lists = sequence.first_list + head_ * uint32_t(ListsOfHead(sequence));
        current_.list = head_lists + uint32_t(first.block);
        int32_t tiles = 1;
        if (plan.row_group > 1 && tile_ % 2 == 0 && tile_ + 1 < sequence.tile_count && tiles_left_ > 1) {
            const int32_t block = SelectedRowsOfTile(sequence, tile_ + 1).block;
            tiles += block == first.block || lists_->SameAsBefore(head_lists + uint32_t(block)) ? 1 : 0;
        }
        current_.sequence = sequence;
        current_.head = head_;
        current_.key_head = head_ / plan.heads_per_key_head;
        current_.first = true;
        const KeySpan keys{0, lists_->Keys(current_.list)};
        for (int32_t r = 0; r < kRowGroupMax; ++r) {
            RowTile& rows = current_.row_tiles[r];
            rows.rows = 0;
            rows.keys.first = rows.keys.last = 0;
            rows.part_slot = kNotSplit;
            if (r < tiles) {
                const SelectedRows place = SelectedRowsOfTile(sequence, tile_ + r);
                rows.row_begin = place.begin;
                rows.rows = place.count;
                rows.keys = keys;
                rows.number = numbers_;
                numbers_ += rows.SeesKeys() ? 1 : 0;
            }
        }
        key_origin_ = key_cursor_ = 0;
        key_end_ = keys.last;
        Advance(tiles);
        return true;
    }

    // Where keys of wide heads are read once, HBM is the limit, and cores that all load at the same time and all
    // multiply at the same time waste it: key tiles of cores are shifted, so that the first ones are of all lengths, if
    // the row tile has been cut anyway.
    __aicore__ inline void Stagger() {
        if (IsWide(reader_->Plan()) && numbers_ == 1 && current_.row_tiles[0].part_slot != kNotSplit &&
            current_.sequence.tile_count == 1) {
            key_origin_ -= stagger_;
        }
        stagger_ = 0;
    }

    // The plan splits row tiles only where a group is one row tile: the core's first and its last one.
    __aicore__ inline void Cut(RowTile& rows, KeySpan& keys) {
        const bool last = tiles_left_ == 1;
        const bool ends_early = last && cut_end_ < keys.last;
        const bool begins_late = cut_begin_ > keys.first;
        if (ends_early) {
            keys.last = cut_end_;
        }
        if (begins_late) {
            keys.first = cut_begin_;
        }
        if (ends_early || begins_late) {
            rows.part_slot = !last ? kHeadSlot : merges_ ? kStays : kTailSlot;
        }
        cut_begin_ = 0;  // of the first row tile only
        rows.keys = keys;
    }

    __aicore__ inline void Advance(int32_t tiles) {
        tile_ += tiles;
        tiles_left_ -= uint32_t(tiles);
        while (tiles_left_ > 0 && tile_ >= next_sequence_.tile_count) {
            tile_ = 0;
            if (reader_->Plan().heads_apart == 0) {
                if (++head_ < reader_->Plan().head_count) {
                    continue;
                }
                head_ = 0;
            }
            ++sequence_index_;
            reader_->Sequence(sequence_index_, next_sequence_);
        }
    }

    const PlanReader* reader_;
    const KeyLists* lists_;
    SequencePlan next_sequence_ = {};
    KeyTile current_;
    uint32_t sequence_index_;
    uint32_t head_;
    int32_t tile_;
    uint32_t tiles_left_;
    int32_t cut_begin_;
    int32_t cut_end_;
    bool merges_;             // the last row tile
    int32_t stagger_;         // keys by which the core's key tiles are shifted
    int32_t key_origin_ = 0;  // where the task's first key tile begins
    int32_t key_cursor_ = 0;
    int32_t key_end_ = 0;
    uint32_t numbers_ = 0;
};

struct TileStep {
    KeyTile tile;
    int32_t r;     // which row tile of the group
    KeySpan keys;  // empty: the row tile sees no key at all
    bool first;    // of its row tile
    bool last;
    uint32_t step;  // running number of steps that have keys

    __aicore__ inline const RowTile& Rows() const { return tile.row_tiles[r]; }
    __aicore__ inline int32_t KeyCount() const { return keys.last - keys.first; }
    // Whether the part of another core is added to its row tile now: before the last step but one, late enough for that
    // to be there, and early enough for the vector cores to have the time.
    __aicore__ inline bool Merges(uint32_t tile_keys) const {
        const bool last_but_one = !last && keys.last + int32_t(tile_keys) >= Rows().keys.last;
        return Rows().part_slot == kStays && (last_but_one || (first && last));
    }
};

// A last step of the core of one piece, with a step before it: all of its S comes before P V of that one, and its P can
// be there before that has been multiplied.
__aicore__ inline bool IsShortEnd(const TileStep& step) {
    return step.tile.ends && step.step > 0 && step.KeyCount() <= kCubeStep;
}

class StepWalk {
public:
    __aicore__ inline explicit StepWalk(const KeyTileWalk& walk) : walk_(walk) {}

    __aicore__ inline bool Next(TileStep& step) {
        for (;;) {
            for (; r_ < kRowGroupMax; ++r_) {
                const RowTile& rows = tile_.row_tiles[r_];
                const KeySpan keys = tile_.KeysOf(r_);
                const bool empty = tile_.first && rows.rows > 0 && !rows.SeesKeys();
                if (empty || keys.first < keys.last) {
                    step.tile = tile_;
                    step.r = r_++;
                    step.keys = keys;
                    step.first = rows.keys.first >= tile_.begin;
                    step.last = rows.keys.last <= tile_.end;
                    step.step = steps_;
                    steps_ += empty ? 0 : 1;
                    return true;
                }
            }
            if (!walk_.Next(tile_)) {
                return false;
            }
            r_ = 0;
        }
    }

private:
    KeyTileWalk walk_;
    KeyTile tile_;
    int32_t r_ = kRowGroupMax;
    uint32_t steps_ = 0;
};

// The order in which K (or V) is loaded: the granules that some row tile needs, key tile by key tile, `passes` times
// each tile.
class GranuleWalk {
public:
    __aicore__ inline GranuleWalk(const KeyTileWalk& walk, int32_t size, int32_t passes)
        : walk_(walk), size_(size), passes_(passes), pass_(passes) {}

    __aicore__ inline bool Next() {
        for (;;) {
            for (; pass_ < passes_; ++pass_) {
                while (tile_.begin + index_ * size_ < tile_.end) {
                    granule_ = GranuleOf(tile_, index_++, size_);
                    if (granule_.end > granule_.begin) {
                        return true;
                    }
                }
                index_ = 0;
            }
            if (!walk_.Next(tile_)) {
                return false;
            }
            new_task_ = new_task_ || tile_.first;
            pass_ = 0;
            index_ = 0;
        }
    }

    __aicore__ inline const KeyTile& Tile() const { return tile_; }
    __aicore__ inline const Granule& Part() const { return granule_; }
    __aicore__ inline int32_t Pass() const { return pass_; }
    // Whether the granule is the first one of its task. Asking answers the question.
    __aicore__ inline bool StartsTask() {
        const bool starts = new_task_;
        new_task_ = false;
        return starts;
    }

private:
    KeyTileWalk walk_;
    KeyTile tile_;
    Granule granule_;
    int32_t size_;
    int32_t passes_;
    int32_t pass_;
    int32_t index_ = 0;
    bool new_task_ = false;
};

}  // namespace ascend_attention
