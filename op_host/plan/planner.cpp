// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.h"

#include <algorithm>
#include <cstring>

#include "common/integers.h"
#include "common/text.h"
#include "plan/split.h"
#include "plan/visible_keys.h"

namespace ascend_attention {
namespace {

constexpr int64_t kHeadsMax = 65535;
constexpr int64_t kSequencesMax = int64_t(1) << 24;
constexpr int64_t kTilesMax = int64_t(UINT32_MAX);
constexpr int64_t kRowsMax = INT32_MAX;

Status NoPlan(const AttentionProblem& problem, const std::string& what, int64_t given, int64_t limit) {
    Status status;
    status.code = StatusCode::kInternal;
    status.op = problem.op;
    status.argument = what;
    status.rule = "PLAN";
    status.given = std::to_string(given);
    status.allowed = Concat("at most ", limit);
    return status;
}

Status CheckLimits(const AttentionProblem& problem) {
    if (!IsHalfWidth(problem.dtype)) {
        return NoPlan(problem, Concat("bytes per element of ", NameOf(problem.dtype)), SizeOf(problem.dtype), 2);
    }
    for (const int64_t dim : {problem.head_dim, problem.value_head_dim}) {
        if (dim < 16 || dim > NarrowHeads::kHeadDimMax || dim % 16 != 0) {
            return NoPlan(problem, "head_dim (a multiple of 16, at least 16)", dim, NarrowHeads::kHeadDimMax);
        }
    }
    if (problem.rope_dim < 0 || problem.rope_dim % 16 != 0 || problem.rope_dim >= problem.head_dim) {
        return NoPlan(problem, "rope_dim (a multiple of 16 below head_dim)", problem.rope_dim, problem.head_dim - 16);
    }
    const bool paged =
        problem.key_placement == KeyPlacement::kPagedRows || problem.key_placement == KeyPlacement::kPagedNz;
    if (paged && (problem.block_size < 16 || problem.block_size > kSequenceLengthMax || problem.block_size % 16 != 0)) {
        return NoPlan(problem, "block_size (a multiple of 16, at least 16)", problem.block_size, kSequenceLengthMax);
    }
    if (problem.query_heads < 1 || problem.query_heads > kHeadsMax) {
        return NoPlan(problem, "query heads (at least 1)", problem.query_heads, kHeadsMax);
    }
    if (problem.key_heads < 1 || problem.query_heads % problem.key_heads != 0) {
        return NoPlan(problem, "key heads (a divisor of the query heads)", problem.key_heads, problem.query_heads);
    }
    const int64_t count = int64_t(problem.sequences.size());
    if (count < 1 || count > kSequencesMax) {
        return NoPlan(problem, "sequences (at least 1)", count, kSequencesMax);
    }
    for (const ProblemSequence& sequence : problem.sequences) {
        if (sequence.query_length < 1 || sequence.query_length > kSequenceLengthMax) {
            return NoPlan(problem, "query length (at least 1)", sequence.query_length, kSequenceLengthMax);
        }
        if (sequence.key_length < 0) {
            return NoPlan(problem, "key length (at least 0)", sequence.key_length, kSequenceLengthMax);
        }
        if (sequence.key_length > kSequenceLengthMax) {
            // A legal request can have them: block_table may repeat blocks.
            return NotSupportedYet(problem.op, "actual_seq_kvlen", Concat(sequence.key_length, " keys in a sequence"),
                                   Concat("at most ", kSequenceLengthMax));
        }
    }
    return OkStatus();
}

int64_t TilesOf(int64_t rows, int64_t limit = kTileRowsMax) { return CeilDiv(rows, limit); }

// Rows of a row tile at most. Few tiles leave cores without work: smaller ones, as long as the smallest SoC has a core
// for each of them. What SoC it is has no say, so that it has none in the result either.
int64_t ChooseRowLimit(const AttentionProblem& problem, int64_t fold) {
    constexpr int64_t kCores = 20;
    for (int64_t limit = 16; limit < kTileRowsMax; limit *= 2) {
        int64_t tiles = 0;
        for (const ProblemSequence& sequence : problem.sequences) {
            if (sequence.key_length > 0) {
                tiles += TilesOf(sequence.query_length * fold, limit) * (problem.query_heads / fold);
            }
        }
        if (tiles <= kCores) {
            return limit;
        }
    }
    return kTileRowsMax;
}

// Heads that share a key head go into the rows of one tile when that makes fewer tiles: short queries would leave most
// rows of a tile empty and read the same keys once per head.
int64_t ChooseFold(const AttentionProblem& problem) {
    const int64_t group = problem.query_heads / problem.key_heads;
    int64_t folded_tiles = 0;
    int64_t plain_tiles = 0;
    for (const ProblemSequence& sequence : problem.sequences) {
        if (sequence.query_length * group > kRowsMax) {
            return 1;
        }
        if (sequence.key_length == 0) {
            continue;  // rows that are only zeroed have no say
        }
        if (sequence.query_length >= kTileRowsMax) {
            return 1;
        }
        folded_tiles += TilesOf(sequence.query_length * group);
        plain_tiles += TilesOf(sequence.query_length) * group;
    }
    return folded_tiles < plain_tiles ? group : 1;
}

// Row tiles that share loads of K and V: as many as there is room for.
int64_t ChooseRowGroup(const AttentionProblem& problem) {
    return std::max(problem.head_dim, problem.value_head_dim) <= kRowGroupChannels ? kRowGroupMax : 1;
}

// As many keys as the score slots hold: the running output is rescaled and the partial output written once per tile,
// whatever its width. Never more keys than the longest range needs. Fewer where a core has a handful of steps: what
// counts then is how soon the first product is there.
int64_t ChooseTileKeys(const AttentionPlan& plan, const std::vector<SequencePlan>& sequences, int64_t tiles) {
    constexpr int64_t kFewTiles = 160;  // eight for each core
    constexpr int64_t kShortTileKeys = 256;
    int64_t longest = 1;
    for (const SequencePlan& sequence : sequences) {
        const int64_t band = int64_t(sequence.band_high) - sequence.band_low + plan.row_group * sequence.tile_rows;
        longest = std::max(longest, std::min<int64_t>(sequence.key_length, band));
    }
    const bool brief = tiles <= kFewTiles && longest <= 8 * kShortTileKeys;
    return std::min<int64_t>(brief ? kShortTileKeys : kTileKeysMax, RoundUp(longest, kCubeStep));
}

int32_t ClampBand(int64_t end) { return int32_t(std::clamp<int64_t>(end, -int64_t(kBandLimit), int64_t(kBandLimit))); }

SequencePlan PlanSequence(const ProblemSequence& sequence, int64_t fold, int64_t row_limit) {
    const int64_t rows = sequence.query_length * fold;
    const int64_t tile_rows = RoundUp(CeilDiv(rows, TilesOf(rows, row_limit)), 16);
    SequencePlan plan{};
    plan.query = sequence.query;
    plan.query_rope = sequence.query_rope;
    plan.key = sequence.key;
    plan.key_rope = sequence.key_rope;
    plan.value = sequence.value;
    plan.key_list = sequence.key_list;
    plan.output = sequence.output;
    plan.lse = sequence.lse;
    plan.mask = sequence.mask;
    plan.bias = sequence.bias;
    plan.query_length = int32_t(sequence.query_length);
    plan.key_length = int32_t(sequence.key_length);
    plan.band_low = ClampBand(sequence.band_low);
    plan.band_high = ClampBand(sequence.band_high);
    plan.tile_rows = int32_t(tile_rows);
    plan.tile_count = int32_t(CeilDiv(rows, tile_rows));
    return plan;
}

AttentionPlan PlanHeader(const AttentionProblem& problem, int64_t fold) {
    AttentionPlan plan{};
    plan.sequence_count = uint32_t(problem.sequences.size());
    plan.head_count = uint32_t(problem.query_heads / fold);
    plan.group_fold = uint32_t(fold);
    plan.heads_per_key_head = uint32_t(problem.query_heads / problem.key_heads / fold);
    plan.row_order = problem.fold_order;
    plan.row_group = uint32_t(ChooseRowGroup(problem));
    plan.head_dim = uint32_t(problem.head_dim);
    plan.rope_dim = uint32_t(problem.rope_dim);
    plan.value_head_dim = uint32_t(problem.value_head_dim);
    plan.key_placement = problem.key_placement;
    plan.block_size = uint32_t(problem.block_size);
    plan.has_mask = problem.has_mask ? 1 : 0;
    plan.has_bias = problem.has_bias ? 1 : 0;
    plan.has_sink = problem.has_sink ? 1 : 0;
    plan.writes_lse = problem.writes_lse ? 1 : 0;
    plan.scale = float(problem.scale);
    plan.workspace_core_stride = NarrowHeads::kCoreWorkspaceBytes;
    plan.query = problem.query;
    plan.query_rope = problem.query_rope;
    plan.key = problem.key;
    plan.key_rope = problem.key_rope;
    plan.value = problem.value;
    plan.key_block = problem.key_block;
    plan.key_rope_block = problem.key_rope_block;
    plan.value_block = problem.value_block;
    plan.output = problem.output;
    plan.lse = problem.lse;
    plan.bias = problem.bias;
    plan.mask_row = problem.mask_row;
    return plan;
}

std::vector<uint8_t> Serialise(const AttentionPlan& header, const std::vector<SequencePlan>& sequences,
                               const std::vector<CoreRange>& cores, const std::vector<CombineTask>& combine) {
    const size_t sequence_bytes = sequences.size() * sizeof(SequencePlan);
    const size_t core_bytes = cores.size() * sizeof(CoreRange);
    const size_t combine_bytes = combine.size() * sizeof(CombineTask);
    std::vector<uint8_t> bytes(sizeof(AttentionPlan) + sequence_bytes + core_bytes + combine_bytes);
    uint8_t* end = bytes.data();
    const auto append = [&end](const void* data, size_t size) {
        if (size > 0) {
            std::memcpy(end, data, size);
            end += size;
        }
    };
    append(&header, sizeof(AttentionPlan));
    append(sequences.data(), sequence_bytes);
    append(cores.data(), core_bytes);
    append(combine.data(), combine_bytes);
    return bytes;
}

}  // namespace

// The buffer comes from operator new, which aligns more strictly than these structs need, and every struct's size is a
// multiple of its alignment.
const AttentionPlan& Plan::header() const { return *reinterpret_cast<const AttentionPlan*>(bytes.data()); }

const SequencePlan* Plan::sequences() const {
    return reinterpret_cast<const SequencePlan*>(bytes.data() + sizeof(AttentionPlan));
}

const CoreRange* Plan::cores() const {
    return reinterpret_cast<const CoreRange*>(sequences() + header().sequence_count);
}

const CombineTask* Plan::combine_tasks() const {
    return reinterpret_cast<const CombineTask*>(cores() + header().core_count);
}

Status MakePlan(const AttentionProblem& problem, const Soc& soc, Plan* plan) {
    if (Status status = CheckLimits(problem); !status.ok()) {
        return status;
    }
    if (soc.aic_count < 1) {
        return NoPlan(problem, "AI cores (at least 1)", soc.aic_count, INT32_MAX);
    }
    const int64_t fold = ChooseFold(problem);
    const int64_t row_limit = ChooseRowLimit(problem, fold);
    AttentionPlan header = PlanHeader(problem, fold);
    std::vector<SequencePlan> sequences;
    sequences.reserve(problem.sequences.size());
    int64_t tiles = 0;
    for (const ProblemSequence& sequence : problem.sequences) {
        sequences.push_back(PlanSequence(sequence, fold, row_limit));
        tiles += int64_t(sequences.back().tile_count) * header.head_count;
    }
    if (tiles > kTilesMax) {
        // The one limit that a legal request can pass. (No memory holds its tensors, but a fake tensor needs none.)
        Status status = NoPlan(problem, "query", tiles, kTilesMax);
        status.code = StatusCode::kNotSupported;
        status.given = Concat(tiles, " tiles of work");
        status.allowed = Concat("at most ", kTilesMax, " (sequences x heads x blocks of query rows)");
        return status;
    }
    header.tile_keys = uint32_t(ChooseTileKeys(header, sequences, tiles));
    const std::vector<CoreRange> cores = SplitWork(header, sequences, soc.aic_count);
    header.core_count = uint32_t(cores.size());

    Plan result;
    result.kernel = std::string("attention_") + NameOf(problem.dtype);
    result.bytes = Serialise(header, sequences, cores, {});
    result.block_count = header.core_count;
    result.workspace_bytes = uint64_t(header.core_count) * uint64_t(NarrowHeads::kCoreWorkspaceBytes);
    *plan = std::move(result);
    return OkStatus();
}

uint64_t MaxWorkspaceBytes(const Soc& soc) {
    return uint64_t(soc.aic_count) * uint64_t(NarrowHeads::kCoreWorkspaceBytes);
}

}  // namespace ascend_attention
