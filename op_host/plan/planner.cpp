// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/integers.h"
#include "common/span.h"
#include "common/text.h"
#include "plan/geometry.h"
#include "plan/selection.h"
#include "plan/split.h"
#include "plan/tiling.h"
#include "plan/visible_keys.h"

namespace ascend_attention {
namespace {

constexpr int64_t kHeadsMax = 65535;
constexpr int64_t kSequencesMax = int64_t(1) << 24;

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

Status CheckSequenceLimits(const AttentionProblem& problem) {
    // Nearly always all fit: differences that turn negative where one does not.
    uint64_t differences = 0;
    for (const ProblemSequence& sequence : problem.sequences) {
        const uint64_t queries = uint64_t(sequence.query_length);
        const uint64_t keys = uint64_t(sequence.key_length);
        differences |= (queries - 1) | (kSequenceLengthMax - queries) | keys | (kSequenceLengthMax - keys);
    }
    if (int64_t(differences) >= 0) {
        return OkStatus();
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

Status CheckLimits(const AttentionProblem& problem) {
    if (!IsHalfWidth(problem.dtype)) {
        return NoPlan(problem, Concat("bytes per element of ", NameOf(problem.dtype)), SizeOf(problem.dtype), 2);
    }
    const struct {
        int64_t dim;
        int64_t limit;
    } dims[] = {{problem.head_dim, WideHeads::kHeadDimMax}, {problem.value_head_dim, WideHeads::kValueDimMax}};
    for (const auto& row : dims) {
        if (row.dim < 1 || row.dim > row.limit) {
            return NoPlan(problem, "head_dim (at least 1)", row.dim, row.limit);
        }
    }
    if (problem.rope_dim < 0 || problem.rope_dim >= problem.head_dim) {
        return NoPlan(problem, "rope_dim (at least 0)", problem.rope_dim, problem.head_dim - 1);
    }
    const bool paged =
        problem.key_placement == KeyPlacement::kPagedRows || problem.key_placement == KeyPlacement::kPagedNz;
    if (paged && (problem.block_size < 16 || problem.block_size > kSequenceLengthMax || problem.block_size % 16 != 0)) {
        return NoPlan(problem, "block_size (a multiple of 16, at least 16)", problem.block_size, kSequenceLengthMax);
    }
    if (problem.key_placement == KeyPlacement::kSelected &&
        (problem.block_size < kCubeStep || problem.block_size % kCubeStep != 0 || problem.query_block < 1)) {
        return NoPlan(problem, "block_size (a multiple of 128, at least 128)", problem.block_size, kSequenceLengthMax);
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
    return CheckSequenceLimits(problem);
}

int32_t ClampBand(int64_t end) { return int32_t(std::clamp<int64_t>(end, -int64_t(kBandLimit), int64_t(kBandLimit))); }

// All but what comes of cutting rows into tiles. (Every field, in place: copying a struct that was just written in
// pieces stalls.)
void PlanSequence(const ProblemSequence& sequence, SequencePlan* into) {
    SequencePlan& plan = *into;
    plan.query_length = int32_t(sequence.query_length);
    plan.key_length = int32_t(sequence.key_length);
    plan.band_low = ClampBand(sequence.band_low);
    plan.band_high = ClampBand(sequence.band_high);
    plan.tile_rows = 0;
    plan.tile_count = 0;
    plan.query = sequence.query;
    plan.key = sequence.key;
    plan.value = sequence.value;
    plan.query_rope = sequence.query_rope;
    plan.key_rope = sequence.key_rope;
    plan.key_list = sequence.key_list;
    plan.output = sequence.output;
    plan.lse = sequence.lse;
    plan.mask = sequence.mask;
    plan.bias = sequence.bias;
    plan.map = sequence.map;
    plan.first_list = 0;
    plan.first_tile = 0;
    plan.block_rows = 0;
    plan.unused = 0;
}

// Cuts the rows of every sequence into tiles of at most `row_limit`; returns how many tiles there are.
int64_t CutRows(const AttentionPlan& header, int64_t row_limit, Span<SequencePlan> sequences) {
    int64_t tiles = 0;
    const SequencePlan* before = nullptr;
    for (SequencePlan& sequence : sequences) {
        if (before != nullptr && before->query_length == sequence.query_length) {
            sequence.tile_rows = before->tile_rows;
            sequence.tile_count = before->tile_count;
        } else {
            const int64_t rows = int64_t(sequence.query_length) * header.group_fold;
            const int64_t tile_rows = RoundUp(CeilDiv(rows, CeilDiv(rows, row_limit)), 16);
            sequence.tile_rows = int32_t(tile_rows);
            sequence.tile_count = int32_t(CeilDiv(rows, tile_rows));
        }
        tiles += int64_t(sequence.tile_count) * header.head_count;
        before = &sequence;
    }
    return tiles;
}

AttentionPlan PlanHeader(const AttentionProblem& problem, int64_t fold, const Geometry& geometry) {
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
    plan.workspace_core_stride = geometry.core_workspace_bytes;
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
    plan.selected.map = problem.map;
    return plan;
}

// The plan's bytes while it is being made: the sequences are planned where they are going to lie.
class PlanBytes {
public:
    PlanBytes(size_t sequence_count, int64_t cores) : count_(sequence_count) {
        constexpr int64_t kManyCores = 256;
        const size_t behind = size_t(std::min(cores, kManyCores)) * (sizeof(CoreRange) + sizeof(CombineTask));
        bytes_.reserve(SequencesEnd() + behind);
        bytes_.resize(SequencesEnd());
    }

    Span<SequencePlan> sequences() {
        return {reinterpret_cast<SequencePlan*>(bytes_.data() + sizeof(AttentionPlan)), count_};
    }

    UnsetVector<uint8_t> Finish(const AttentionPlan& header, const Split& split) {
        const size_t core_bytes = split.cores.size() * sizeof(CoreRange);
        const size_t combine_bytes = split.combine.size() * sizeof(CombineTask);
        bytes_.resize(SequencesEnd() + core_bytes + combine_bytes);
        Write(&header, sizeof(AttentionPlan), 0);
        Write(split.cores.data(), core_bytes, SequencesEnd());
        Write(split.combine.data(), combine_bytes, SequencesEnd() + core_bytes);
        return std::move(bytes_);
    }

private:
    size_t SequencesEnd() const { return sizeof(AttentionPlan) + count_ * sizeof(SequencePlan); }
    void Write(const void* data, size_t size, size_t offset) {
        if (size > 0) {
            std::memcpy(bytes_.data() + offset, data, size);
        }
    }

    const size_t count_;
    UnsetVector<uint8_t> bytes_;
};

// Of one core: the partial result of a cut tile that is not its last one.
int64_t PartBytes(const Geometry& geometry, int64_t value_head_dim) {
    return PartSlotBytes(value_head_dim, geometry.core_workspace_bytes == WideHeads::kCoreWorkspaceBytes);
}

// What a plan takes, in cycles, for choosing between two: timed mode on Ascend910B2 with a cold L2 is met within a
// fifth. A core goes on by one key in kKeyCycles with 256 channels of key and value, longer with more rows; short row
// tiles of one head find keys in L2 that another has fetched. All cores together are bound by HBM: keys are read once,
// and the rings and parts that they write come on top.
struct KeyCycles {
    int64_t fixed;
    int64_t per_128_rows;
};
constexpr KeyCycles kAlone = {11, 5};
constexpr KeyCycles kShared = {6, 10};
constexpr KeyCycles kNoLongerShared = {11, 10};  // cut tiles of one head load keys each for itself
constexpr int64_t kKeyChannels = 256;
constexpr int64_t kHbmBytesPerCycle = 770;
// All cores wait for each other before parts are read.
constexpr int64_t kCombineCycles = 5000;
// A cut has to save more than the estimate may err: one part in.
constexpr int64_t kWorthIt = 20;
// Cores this much busier than the mean are worth a look: one part in.
constexpr int64_t kUnbalanced = 10;

int64_t PlanCycles(const AttentionPlan& plan, Span<const SequencePlan> sequences, const Split& split) {
    const int64_t channels = int64_t(plan.head_dim) + plan.value_head_dim;
    const int64_t key_heads = plan.head_count / plan.heads_per_key_head;
    int64_t rows = 0;
    int64_t keys = 0;
    bool several = false;  // row tiles of a head
    for (const SequencePlan& sequence : sequences) {
        if (sequence.key_length > 0) {
            rows = std::max<int64_t>(rows, sequence.tile_rows);
            keys += std::clamp<int64_t>(int64_t(sequence.band_high) - sequence.band_low + sequence.query_length, 0,
                                        sequence.key_length);
            several = several || sequence.tile_count > 1;
        }
    }
    const bool cut = !split.combine.empty();
    const int64_t ring =
        NarrowHeads::kScoreSlots * rows * (plan.tile_keys * int64_t(6) + plan.value_head_dim * int64_t(4));
    const int64_t parts = cut ? rows * (plan.value_head_dim + 2) * int64_t(4) : 0;
    const int64_t bytes = keys * key_heads * channels * 2 + int64_t(split.cores.size()) * (ring + parts);
    const bool narrow = std::max(plan.head_dim, plan.value_head_dim) <= uint32_t(kRowGroupChannels);
    const KeyCycles& key = !several || (cut && !narrow) ? kAlone : cut ? kNoLongerShared : kShared;
    const int64_t busiest =
        split.busiest * (key.fixed * kTileRowsMax + key.per_128_rows * rows) / kTileRowsMax * channels / kKeyChannels;
    return std::max(busiest, bytes / kHbmBytesPerCycle) + (cut ? kCombineCycles : 0);
}

// Whether each head gets cores of its own. Keys that lie by token in rows shorter than a line of L2 share lines with
// those of the heads beside them: cores that read them at the same time bring each line from HBM once, one core that
// takes head after head leaves HBM idle while it finds the second in L2. Every core then has to be at the same
// sequences as those of the other heads, so they have to share the cores evenly.
bool KeepsHeadsApart(const AttentionPlan& plan, int64_t tiles, int64_t cores) {
    constexpr int64_t kLineElements = 256;  // of 16 bits in 512 bytes
    const bool tensor = plan.key_placement == KeyPlacement::kDense || plan.key_placement == KeyPlacement::kPagedRows;
    const bool shares_lines = plan.key.head < kLineElements && plan.key.head < plan.key.row;
    return tensor && shares_lines && plan.heads_per_key_head == 1 && plan.head_count > 1 &&
           cores % plan.head_count == 0 && tiles == int64_t(plan.sequence_count) * plan.head_count;
}

// SplitTiles or SplitKeys, of all heads or of one after the other.
Split SplitWork(decltype(SplitTiles)* split, Span<const SequencePlan> sequences, int64_t tiles, int64_t cores,
                AttentionPlan* plan) {
    plan->heads_apart = KeepsHeadsApart(*plan, tiles, cores) ? 1 : 0;
    if (plan->heads_apart == 0) {
        return split(*plan, sequences, cores);
    }
    AttentionPlan one_head = *plan;
    one_head.head_count = 1;
    const Split part = split(one_head, sequences, cores / plan->head_count);
    Split whole = part;
    for (uint32_t head = 1; head < plan->head_count; ++head) {
        const uint32_t first_core = uint32_t(whole.cores.size());
        for (CoreRange range : part.cores) {
            range.head = head;
            whole.cores.push_back(range);
        }
        whole.keys_after.insert(whole.keys_after.end(), part.keys_after.begin(), part.keys_after.end());
        for (CombineTask task : part.combine) {
            task.head = head;
            task.first_core += first_core;
            whole.combine.push_back(task);
        }
    }
    return whole;
}

// Where whole tiles leave cores without work: tiles as high as they can be, cut along their keys.
void CutIfWorthIt(const Soc& soc, int64_t key_limit, AttentionPlan* header, Span<SequencePlan> sequences,
                  Split* split) {
    if (split->busiest <= split->mean + split->mean / kUnbalanced) {
        return;
    }
    AttentionPlan cut_header = *header;
    std::vector<SequencePlan> cut_sequences(sequences.begin(), sequences.end());
    const int64_t tiles = CutRows(cut_header, kTileRowsMax, cut_sequences);
    cut_header.row_group = 1;
    cut_header.tile_keys = uint32_t(ChooseCutTileKeys(cut_header, cut_sequences, key_limit));
    Split cut = SplitWork(SplitKeys, cut_sequences, tiles, std::min<int64_t>(soc.aic_count, kPartsMax), &cut_header);
    const int64_t whole_cycles = PlanCycles(*header, sequences, *split);
    const int64_t cut_cycles = PlanCycles(cut_header, cut_sequences, cut);
    if (!cut.combine.empty() && cut_cycles + cut_cycles / kWorthIt < whole_cycles) {
        *header = cut_header;
        std::copy(cut_sequences.begin(), cut_sequences.end(), sequences.begin());
        *split = std::move(cut);
    }
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
    const Geometry& geometry = *GeometryOf(problem.head_dim, problem.value_head_dim);
    AttentionPlan header = PlanHeader(problem, fold, geometry);
    PlanBytes bytes(problem.sequences.size(), soc.aic_count);
    const Span<SequencePlan> sequences = bytes.sequences();
    for (size_t i = 0; i < sequences.size(); ++i) {
        PlanSequence(problem.sequences[i], &sequences[i]);
    }
    const bool selected = problem.key_placement == KeyPlacement::kSelected;
    const int64_t row_limit = ChooseRowLimit(problem, fold);
    const int64_t tiles = selected ? CutBlocksOfRows(problem, row_limit, &header.selected, sequences)
                                   : CutRows(header, row_limit, sequences);
    if (tiles > kTilesMax) {
        // The one limit that a legal request can pass. (No memory holds its tensors, but a fake tensor needs none.)
        return NotSupportedYet(problem.op, "query", Concat(tiles, " tiles of work"),
                               Concat("at most ", kTilesMax, " (sequences x heads x blocks of query rows)"));
    }
    const int64_t key_limit = TileKeysLimit(problem, geometry);
    header.tile_keys = uint32_t(ChooseTileKeys(header, sequences, tiles, key_limit));
    Split split;
    if (selected) {  // the device splits
        split.cores.resize(size_t(std::min(soc.aic_count, int(std::min<int64_t>(tiles, INT32_MAX)))));
    } else {
        split = SplitWork(SplitTiles, sequences, tiles, soc.aic_count, &header);
        CutIfWorthIt(soc, key_limit, &header, sequences, &split);
    }
    ChooseMergers(header, &split);
    header.core_count = uint32_t(split.cores.size());
    header.combine_count = uint16_t(split.combine.size());
    header.dealt_count = uint16_t(split.dealt);
    header.workspace_parts = int64_t(header.core_count) * header.workspace_core_stride;

    Plan result;
    result.kernel = std::string(geometry.kernel) + NameOf(problem.dtype);
    result.block_count = header.core_count;
    const int64_t parts = split.combine.empty() ? 0 : header.core_count * PartBytes(geometry, problem.value_head_dim);
    result.workspace_bytes = uint64_t(header.workspace_parts + parts);
    if (selected) {
        result.workspace_bytes += AddLists(int64_t(result.workspace_bytes), &header);
    }
    result.bytes = bytes.Finish(header, split);
    *plan = std::move(result);
    return OkStatus();
}

uint64_t MaxWorkspaceBytes(int64_t head_dim, int64_t value_head_dim, const Soc& soc) {
    const Geometry* geometry = GeometryOf(head_dim, value_head_dim);
    return geometry == nullptr ? 0
                               : uint64_t(soc.aic_count) *
                                     uint64_t(geometry->core_workspace_bytes + PartBytes(*geometry, value_head_dim));
}

}  // namespace ascend_attention
