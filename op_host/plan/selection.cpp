// SPDX-License-Identifier: Apache-2.0
#include "plan/selection.h"

#include <algorithm>

#include "common/integers.h"
#include "plan/tiling.h"
#include "plan/visible_keys.h"

namespace ascend_attention {
namespace {

constexpr int64_t kVectorCores = 2;  // of an AI core
constexpr int64_t kAlignment = 512;

int64_t ListWords(int64_t blocks) { return RoundUp(std::max<int64_t>(blocks, 1), kListStep) / kWordBits; }

uint64_t ListBytes(int64_t lists, int64_t words, int64_t cores) {
    return ListCostsBegin(uint64_t(lists), uint64_t(words)) + uint64_t(cores * kVectorCores) * sizeof(uint64_t);
}

}  // namespace

int64_t CutBlocksOfRows(const AttentionProblem& problem, int64_t row_limit, SelectedKeys* selected,
                        Span<SequencePlan> sequences) {
    int64_t tiles = 0;
    int64_t lists = 0;
    int64_t longest = 0;
    for (SequencePlan& sequence : sequences) {
        // Rows that see nothing in any case need not be cut into blocks.
        const int64_t block = sequence.key_length > 0 ? std::min<int64_t>(problem.query_block, sequence.query_length)
                                                      : sequence.query_length;
        const int64_t tile_rows = RoundUp(CeilDiv(block, CeilDiv(block, row_limit)), 16);
        const int64_t blocks = CeilDiv(sequence.query_length, block);
        const int64_t last = sequence.query_length - (blocks - 1) * block;
        const int64_t head_tiles = (blocks - 1) * CeilDiv(block, tile_rows) + CeilDiv(last, tile_rows);
        sequence.block_rows = int32_t(block);
        sequence.tile_rows = int32_t(tile_rows);
        sequence.tile_count = int32_t(head_tiles);
        sequence.first_tile = uint32_t(tiles);
        sequence.first_list = uint32_t(lists);
        tiles += head_tiles * problem.query_heads;
        lists += blocks * problem.query_heads;
        longest = std::max<int64_t>(longest, sequence.key_length);
        if (tiles > kTilesMax) {
            return tiles;
        }
    }
    selected->list_count = uint32_t(lists);
    selected->list_words = uint32_t(ListWords(CeilDiv(longest, problem.block_size)));
    return tiles;
}

uint64_t AddLists(int64_t used, AttentionPlan* plan) {
    const SelectedKeys& selected = plan->selected;
    plan->selected.workspace_lists = RoundUp(used, kAlignment);
    return uint64_t(plan->selected.workspace_lists - used) +
           ListBytes(selected.list_count, selected.list_words, plan->core_count);
}

// A head of a sequence has a list for each block of rows, and one for rows beyond its length.
uint64_t MaxListBytes(const Shape& map, int64_t cores) {
    return kAlignment + ListBytes(map[0] * map[1] * (map[2] + 1), ListWords(map[3]), cores);
}

}  // namespace ascend_attention
