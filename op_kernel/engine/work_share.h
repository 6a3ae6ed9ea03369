// SPDX-License-Identifier: Apache-2.0
// Which row tiles are an AI core's. The plan says it, except where keys are selected: there the cost of tiles is known
// on the device only. Each core then cuts the line of all row tiles into equal shares by itself, all of them alike:
// first by the costs of the vector cores' chunks, inside a chunk list by list.
#pragma once

#include "engine/key_lists.h"
#include "engine/plan_reader.h"
#include "plan/visible_keys.h"

namespace ascend_attention {

class WorkShare {
public:
    // `vectors`: vector cores of the launch.
    __aicore__ inline WorkShare(const PlanReader& reader, const KeyLists& lists, uint32_t vectors)
        : reader_(reader), lists_(lists), vectors_(vectors) {}

    __aicore__ inline CoreRange Of(uint32_t core) const {
        CoreRange range;
        const AttentionPlan& plan = reader_.Plan();
        if (plan.key_placement != KeyPlacement::kSelected) {
            reader_.Range(core, range);
            return range;
        }
        const uint32_t chunks = ListChunks(plan.selected.list_count, vectors_);
        int64_t total = 0;
        for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
            total += lists_.Cost(chunk);
        }
        const Place begin = FirstFrom(ShareBegin(total, core), chunks);
        const Place end = FirstFrom(ShareBegin(total, core + 1), chunks);
        range.sequence = begin.sequence;
        range.head = begin.head;
        range.tile = begin.tile;
        range.tile_total = end.number - begin.number;
        range.key_begin = 0;
        range.key_end = kWholeTile;
        range.merges = 0;
        return range;
    }

private:
    struct Place {
        uint32_t sequence;
        uint32_t head;
        uint32_t tile;
        uint32_t number;  // of all row tiles
    };

    __aicore__ inline int64_t ShareBegin(int64_t total, uint32_t core) const {
        const int64_t cores = int64_t(reader_.Plan().core_count);
        return total / cores * core + total % cores * core / cores;
    }

    // The first row tile with at least `cost` before it.
    __aicore__ inline Place FirstFrom(int64_t cost, uint32_t chunks) const {
        uint32_t chunk = 0;
        int64_t before = 0;
        for (int64_t next = 0; chunk < chunks; ++chunk, before = next) {
            next = before + lists_.Cost(chunk);
            if (next > cost) {
                break;
            }
        }
        const AttentionPlan& plan = reader_.Plan();
        const uint32_t lists = plan.selected.list_count;
        uint32_t list = ListChunkOf(lists, chunk, vectors_).begin;
        SequencePlan sequence = {};
        Place place = {0, 0, 0, 0};
        place.sequence = reader_.SequenceOfList(list < lists ? list : lists - 1);
        reader_.Sequence(place.sequence, sequence);
        for (; list < lists; ++list) {
            uint32_t head_lists = uint32_t(ListsOfHead(sequence));
            uint32_t number = list - sequence.first_list;
            if (number == plan.head_count * head_lists) {
                reader_.Sequence(++place.sequence, sequence);
                head_lists = uint32_t(ListsOfHead(sequence));
                number = 0;
            }
            place.head = number / head_lists;
            const int32_t block = int32_t(number % head_lists);
            const int64_t tile_cost = CostOfTile(lists_.Keys(list));
            const int32_t tiles = TilesOfBlock(sequence, block);
            const int64_t skipped = before >= cost ? 0 : (cost - before + tile_cost - 1) / tile_cost;
            if (skipped < tiles) {
                place.tile = uint32_t(block * TilesOfWholeBlock(sequence)) + uint32_t(skipped);
                place.number = sequence.first_tile + place.head * uint32_t(sequence.tile_count) + place.tile;
                return place;
            }
            before += tile_cost * tiles;
        }
        place.number = sequence.first_tile + plan.head_count * uint32_t(sequence.tile_count);  // behind the last one
        return place;
    }

    const PlanReader& reader_;
    const KeyLists& lists_;
    uint32_t vectors_;
};

}  // namespace ascend_attention
