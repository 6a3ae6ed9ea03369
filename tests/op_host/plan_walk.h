// SPDX-License-Identifier: Apache-2.0
// Reads a plan as the engine does and checks that it is whole: every row of every head in one tile, every key of every
// tile in one part, every cut tile put together again.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cpp/check.h"
#include "plan/planner.h"
#include "plan/visible_keys.h"

namespace plan_walk {

using namespace ascend_attention;

// A tile of one head, and what the cores do of it.
struct TileWork {
    KeySpan keys{};
    struct Part {
        uint32_t core;
        int32_t begin, end;
        int32_t slot;
    };
    std::vector<Part> parts;
};
using TileName = std::array<uint32_t, 3>;  // sequence, head, tile

// Walks the plan as the engine does: the work of every core, tile by tile.
inline std::map<TileName, TileWork> WalkPlan(const Plan& plan, const std::string& context) {
    const AttentionPlan& header = plan.header();
    std::map<TileName, TileWork> work;
    for (uint32_t core = 0; core < header.core_count; ++core) {
        CoreRange at = plan.cores()[core];
        CHECK_CONTEXT(at.tile_total >= 1, context);
        for (uint32_t n = 0; n < at.tile_total; ++n) {
            const SequencePlan& sequence = plan.sequences()[at.sequence];
            const int32_t first = int32_t(at.tile) * sequence.tile_rows;
            const int32_t rows = RowsOfTile(sequence, header.group_fold, int32_t(at.tile));
            CHECK_CONTEXT(rows >= 1 && rows <= sequence.tile_rows, context);
            TileWork& tile = work[{at.sequence, at.head, at.tile}];
            tile.keys = VisibleKeys(sequence, header.group_fold, header.row_order, first, rows);
            TileWork::Part part = {core, tile.keys.first, tile.keys.last, -1};
            if (n + 1 == at.tile_total && at.key_end < tile.keys.last) {
                part.end = at.key_end;
                part.slot = kTailSlot;
            }
            if (n == 0 && at.key_begin > tile.keys.first) {
                part.begin = at.key_begin;
                part.slot = n + 1 == at.tile_total ? kTailSlot : kHeadSlot;
            }
            tile.parts.push_back(part);
            if (++at.tile == uint32_t(sequence.tile_count)) {
                at.tile = 0;
                if (header.heads_apart != 0) {
                    ++at.sequence;
                } else if (++at.head == header.head_count) {
                    at.head = 0;
                    ++at.sequence;
                }
            }
        }
    }
    return work;
}

// Every (query head, position) of the problem is in exactly one tile.
inline void CheckRows(const AttentionProblem& problem, const Plan& plan, const std::map<TileName, TileWork>& work,
                      const std::string& context) {
    const AttentionPlan& header = plan.header();
    std::vector<std::vector<int>> seen;
    for (const ProblemSequence& sequence : problem.sequences) {
        seen.emplace_back(size_t(problem.query_heads * sequence.query_length), 0);
    }
    for (const auto& [name, tile] : work) {
        const SequencePlan& sequence = plan.sequences()[name[0]];
        const int32_t first = int32_t(name[2]) * sequence.tile_rows;
        const int32_t rows = RowsOfTile(sequence, header.group_fold, int32_t(name[2]));
        for (int32_t row = first; row < first + rows; ++row) {
            const bool tokens = header.row_order == RowOrder::kTokenMajor;
            const int64_t fold = header.group_fold;
            const int64_t in_group = tokens ? row % fold : row / sequence.query_length;
            const int64_t position = tokens ? row / fold : row % sequence.query_length;
            const int64_t head = int64_t(name[1]) * fold + in_group;
            // A folded tile reads one key head: the one its query heads share.
            CHECK_EQ_CONTEXT(int64_t(name[1] / header.heads_per_key_head),
                             head / (problem.query_heads / problem.key_heads), context);
            ++seen[name[0]][size_t(head * sequence.query_length + position)];
        }
    }
    for (const auto& rows : seen) {
        for (const int count : rows) {
            CHECK_EQ_CONTEXT(count, 1, context);
        }
    }
}

// A core that adds a part to its last tile waits for the first parts of all. It does so two steps before its end, and
// has left its own by then, as many steps later as P V follows behind S.
inline void CheckMerger(const Plan& plan, const std::map<TileName, TileWork>& work, uint32_t core,
                        const std::string& context) {
    const int32_t tile_keys = int32_t(plan.header().tile_keys);
    int64_t steps = 0;
    bool leaves_first = false;
    for (const auto& [name, tile] : work) {
        for (const TileWork::Part& part : tile.parts) {
            if (part.core == core) {
                leaves_first = leaves_first || part.slot == kHeadSlot;
                steps += part.slot == kHeadSlot ? 0 : (part.end - part.begin + tile_keys - 1) / tile_keys;
            }
        }
    }
    const int32_t lag = IsWide(plan.header()) ? WideHeads::kStepsBehind : NarrowHeads::kStepsBehind;
    CHECK_CONTEXT(!leaves_first || steps >= 2 + lag, context);
}

// Every key of every tile in exactly one part; cuts where they may be; a combine task for each cut tile and no other,
// whose parts lie in slots of their own on neighbouring cores. Who merges a tile on the way is its first core, and
// knows it.
inline void CheckCuts(const Plan& plan, const std::map<TileName, TileWork>& work, const std::string& context) {
    const AttentionPlan& header = plan.header();
    std::map<TileName, CombineTask> tasks;
    int mergers = 0;
    for (uint32_t i = 0; i < header.combine_count; ++i) {
        const CombineTask& task = plan.combine_tasks()[i];
        CHECK_CONTEXT(tasks.emplace(TileName{task.sequence, task.head, task.tile}, task).second, context);
        CHECK_CONTEXT(i == 0 || i == header.dealt_count || plan.combine_tasks()[i - 1].first_core < task.first_core,
                      context);
        const bool merges = plan.cores()[task.first_core].merges != 0;
        CHECK_EQ_CONTEXT(i < header.dealt_count, !merges, context);
        CHECK_CONTEXT(!merges || (task.part_count == 2 && task.last_slot == kHeadSlot), context);
        mergers += merges ? 1 : 0;
    }
    for (uint32_t core = 0; core < header.core_count && header.key_placement != KeyPlacement::kSelected; ++core) {
        mergers -= int(plan.cores()[core].merges);
    }
    CHECK_EQ_CONTEXT(mergers, 0, context);
    CHECK_CONTEXT(tasks.empty() || header.row_group == 1, context);
    std::set<std::pair<uint32_t, int32_t>> slots;
    for (const auto& [name, tile] : work) {
        int32_t reached = tile.keys.first;
        for (const TileWork::Part& part : tile.parts) {
            CHECK_EQ_CONTEXT(part.begin, reached, context);
            CHECK_CONTEXT(part.end > part.begin || tile.parts.size() == 1, context);
            CHECK_EQ_CONTEXT((part.begin - tile.keys.first) % int32_t(CutStep(header)), 0, context);
            reached = part.end;
        }
        CHECK_EQ_CONTEXT(reached, tile.keys.last, context);
        const auto task = tasks.find(name);
        CHECK_EQ_CONTEXT(task != tasks.end(), tile.parts.size() > 1, context);
        if (task == tasks.end()) {
            CHECK_EQ_CONTEXT(tile.parts[0].slot, -1, context);
            continue;
        }
        CHECK_EQ_CONTEXT(task->second.part_count, uint32_t(tile.parts.size()), context);
        for (size_t i = 0; i < tile.parts.size(); ++i) {
            CHECK_EQ_CONTEXT(tile.parts[i].core, task->second.first_core + uint32_t(i), context);
            const bool last = i + 1 == tile.parts.size();
            CHECK_EQ_CONTEXT(tile.parts[i].slot, last ? task->second.last_slot : kTailSlot, context);
            CHECK_CONTEXT(slots.emplace(tile.parts[i].core, tile.parts[i].slot).second, context);
        }
        if (plan.cores()[task->second.first_core].merges != 0) {
            CheckMerger(plan, work, task->second.first_core, context);
        }
        tasks.erase(task);
    }
    CHECK_CONTEXT(tasks.empty(), context);
}

inline void CheckCoverage(const AttentionProblem& problem, const Plan& plan, const std::string& context) {
    const std::map<TileName, TileWork> work = WalkPlan(plan, context);
    CheckRows(problem, plan, work, context);
    CheckCuts(plan, work, context);
}

}  // namespace plan_walk
