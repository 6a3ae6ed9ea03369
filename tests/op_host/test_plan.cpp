// SPDX-License-Identifier: Apache-2.0
// The plan as the device will read it: every (query head, row) of every sequence in exactly one tile of one core, tile
// sizes within the engine's limits, and quick for the longest sequences the documents allow.
#include <chrono>
#include <cstring>
#include <random>

#include "common/text.h"
#include "cpp/check.h"
#include "plan/planner.h"
#include "plan/split.h"
#include "plan/visible_keys.h"

namespace {

using namespace ascend_attention;

int64_t Between(std::mt19937& random, int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Soc SocOf(const std::string& name) {
    Soc soc;
    CHECK(FindSoc(name, &soc).ok());
    return soc;
}

AttentionProblem MakeProblem(int64_t heads, int64_t key_heads, int64_t dim) {
    AttentionProblem problem;
    problem.op = "an_operator";
    problem.query_heads = heads;
    problem.key_heads = key_heads;
    problem.head_dim = dim;
    problem.value_head_dim = dim;
    problem.query = {dim, heads * dim};
    problem.key = {dim, key_heads * dim};
    problem.value = problem.key;
    problem.output = problem.query;
    problem.lse = {1000, 1};
    problem.fold_order = RowOrder::kTokenMajor;
    problem.scale = 0.5;
    return problem;
}

ProblemSequence MakeSequence(int64_t query_length, int64_t key_length) {
    ProblemSequence sequence;
    sequence.query_length = query_length;
    sequence.key_length = key_length;
    return sequence;
}

// Walks the plan as the engine does and counts how often each (sequence, query head, position) is computed.
void CheckCoverage(const AttentionProblem& problem, const Plan& plan, const std::string& context) {
    const AttentionPlan& header = plan.header();
    std::vector<std::vector<int>> seen;
    for (const ProblemSequence& sequence : problem.sequences) {
        seen.emplace_back(size_t(problem.query_heads * sequence.query_length), 0);
    }
    for (uint32_t core = 0; core < header.core_count; ++core) {
        CoreRange at = plan.cores()[core];
        for (uint32_t n = 0; n < at.tile_total; ++n) {
            const SequencePlan& sequence = plan.sequences()[at.sequence];
            const int32_t first = int32_t(at.tile) * sequence.tile_rows;
            const int32_t rows = RowsOfTile(sequence, header.group_fold, int32_t(at.tile));
            CHECK_CONTEXT(rows >= 1 && rows <= sequence.tile_rows, context);
            for (int32_t row = first; row < first + rows; ++row) {
                const bool tokens = header.row_order == RowOrder::kTokenMajor;
                const int64_t fold = header.group_fold;
                const int64_t in_group = tokens ? row % fold : row / sequence.query_length;
                const int64_t position = tokens ? row / fold : row % sequence.query_length;
                const int64_t head = int64_t(at.head) * fold + in_group;
                // A folded tile reads one key head: the one its query heads share.
                CHECK_EQ_CONTEXT(int64_t(at.head / header.heads_per_key_head),
                                 head / (problem.query_heads / problem.key_heads), context);
                ++seen[at.sequence][size_t(head * sequence.query_length + position)];
            }
            if (++at.tile == uint32_t(sequence.tile_count)) {
                at.tile = 0;
                if (++at.head == header.head_count) {
                    at.head = 0;
                    ++at.sequence;
                }
            }
        }
    }
    for (const auto& rows : seen) {
        for (const int count : rows) {
            CHECK_EQ_CONTEXT(count, 1, context);
        }
    }
}

void CheckLimits(const AttentionProblem& problem, const Plan& plan, const Soc& soc, const std::string& context) {
    const AttentionPlan& header = plan.header();
    CHECK_EQ_CONTEXT(header.sequence_count, uint32_t(problem.sequences.size()), context);
    CHECK_CONTEXT(header.core_count >= 1 && int64_t(header.core_count) <= soc.aic_count, context);
    CHECK_EQ_CONTEXT(plan.block_count, header.core_count, context);
    CHECK_EQ_CONTEXT(plan.workspace_bytes, uint64_t(header.core_count) * uint64_t(header.workspace_core_stride),
                     context);
    CHECK_CONTEXT(plan.workspace_bytes <= MaxWorkspaceBytes(soc), context);
    CHECK_EQ_CONTEXT(header.workspace_core_stride, NarrowHeads::kCoreWorkspaceBytes, context);
    CHECK_EQ_CONTEXT(header.head_count * header.group_fold, uint32_t(problem.query_heads), context);
    CHECK_CONTEXT(header.tile_keys % kCubeStep == 0 && header.tile_keys >= 128, context);
    CHECK_CONTEXT(int64_t(header.tile_keys) <= kTileKeysMax, context);
    CHECK_EQ_CONTEXT(
        plan.bytes.size(),
        sizeof(AttentionPlan) + problem.sequences.size() * sizeof(SequencePlan) + header.core_count * sizeof(CoreRange),
        context);
    for (size_t i = 0; i < problem.sequences.size(); ++i) {
        const SequencePlan& sequence = plan.sequences()[i];
        CHECK_CONTEXT(sequence.tile_rows % 16 == 0 && sequence.tile_rows >= 16, context);
        CHECK_CONTEXT(sequence.tile_rows <= kTileRowsMax, context);
        CHECK_CONTEXT(std::abs(int64_t(sequence.band_low)) <= kBandLimit, context);
        CHECK_CONTEXT(std::abs(int64_t(sequence.band_high)) <= kBandLimit, context);
        CHECK_EQ_CONTEXT(int64_t(sequence.query_length), problem.sequences[i].query_length, context);
        CHECK_EQ_CONTEXT(int64_t(sequence.key_length), problem.sequences[i].key_length, context);
    }
}

void TestRandomPlans(std::mt19937& random) {
    const char* socs[] = {"Ascend910B2", "Ascend910B4", "Ascend910_9391"};
    for (int round = 0; round < 300; ++round) {
        const int64_t key_heads = Between(random, 1, 5);
        const int64_t group = random() % 2 ? 1 : Between(random, 2, 16);
        AttentionProblem problem = MakeProblem(key_heads * group, key_heads, 16 * Between(random, 1, 16));
        problem.dtype = random() % 2 ? DType::kFloat16 : DType::kBFloat16;
        problem.fold_order = random() % 2 ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
        const int64_t longest = random() % 2 ? 100 : 700;
        for (int64_t i = Between(random, 1, 6); i > 0; --i) {
            ProblemSequence sequence =
                MakeSequence(Between(random, 1, longest), random() % 5 ? Between(random, 1, 900) : 0);
            if (random() % 2) {
                sequence.band_high = Between(random, -900, 900);
            }
            if (random() % 3 == 0) {
                sequence.band_low = Between(random, -900, 900);
            }
            problem.sequences.push_back(sequence);
        }
        const Soc soc = SocOf(socs[round % 3]);
        Plan plan;
        const Status status = MakePlan(problem, soc, &plan);
        const std::string context = Concat("round ", round, "\n", Describe(plan));
        CHECK_CONTEXT(status.ok(), context);
        CheckLimits(problem, plan, soc, context);
        CheckCoverage(problem, plan, context);
        CHECK_EQ(plan.kernel, std::string("attention_") + NameOf(problem.dtype));
    }
}

uint32_t FoldOf(int64_t heads, int64_t key_heads, std::vector<ProblemSequence> sequences) {
    AttentionProblem problem = MakeProblem(heads, key_heads, 64);
    problem.sequences = std::move(sequences);
    Plan plan;
    CHECK(MakePlan(problem, SocOf("Ascend910B2"), &plan).ok());
    return plan.header().group_fold;
}

void TestFold() {
    CHECK_EQ(FoldOf(8, 1, {MakeSequence(4, 100)}), 8u);    // 32 rows in one tile instead of eight tiles of 4
    CHECK_EQ(FoldOf(64, 1, {MakeSequence(2, 100)}), 64u);  // exactly one full tile
    CHECK_EQ(FoldOf(8, 8, {MakeSequence(4, 100)}), 1u);    // nothing to fold
    CHECK_EQ(FoldOf(8, 1, {MakeSequence(128, 100)}), 1u);  // full tiles already
    CHECK_EQ(FoldOf(2, 1, {MakeSequence(100, 100)}), 1u);  // two tiles either way
    CHECK_EQ(FoldOf(8, 1, {MakeSequence(4, 100), MakeSequence(300, 100)}), 1u);
    // Rows that are only zeroed have no say, however many they are.
    CHECK_EQ(FoldOf(8, 1, {MakeSequence(4, 100), MakeSequence(3000, 0)}), 8u);
}

uint32_t TileKeysOf(int64_t dim, int64_t key_length, int64_t band_low, int64_t band_high) {
    AttentionProblem problem = MakeProblem(1, 1, dim);
    problem.sequences = {MakeSequence(128 * 200, key_length)};  // more tiles than get small key tiles
    problem.sequences[0].band_low = band_low;
    problem.sequences[0].band_high = band_high;
    Plan plan;
    CHECK(MakePlan(problem, SocOf("Ascend910B2"), &plan).ok());
    return plan.header().tile_keys;
}

void TestTileKeys() {
    CHECK_EQ(TileKeysOf(64, 4096, kBandOpenLow, kBandOpenHigh), 512u);
    CHECK_EQ(TileKeysOf(128, 4096, kBandOpenLow, kBandOpenHigh), 512u);
    CHECK_EQ(TileKeysOf(256, 4096, kBandOpenLow, kBandOpenHigh), 512u);
    CHECK_EQ(TileKeysOf(64, 1, kBandOpenLow, kBandOpenHigh), 128u);
    CHECK_EQ(TileKeysOf(64, 129, kBandOpenLow, kBandOpenHigh), 256u);
    CHECK_EQ(TileKeysOf(64, 4096, -100, 0), 384u);   // 256 rows that see 101 keys each span 356
    CHECK_EQ(TileKeysOf(256, 4096, -100, 0), 256u);  // 128 rows span 228
}

void TestTileRows() {
    const struct {
        int64_t query_length;
        int32_t tile_rows;
        int32_t tile_count;
    } rows[] = {{1, 16, 1},    {16, 16, 1},    {17, 16, 2},     {128, 16, 8},    {320, 16, 20},
                {321, 32, 11}, {1024, 64, 16}, {1281, 128, 11}, {2048, 128, 16}, {2561, 128, 21}};
    for (const auto& row : rows) {
        AttentionProblem problem = MakeProblem(1, 1, 64);
        problem.sequences = {MakeSequence(row.query_length, 64)};
        Plan plan;
        CHECK(MakePlan(problem, SocOf("Ascend910B2"), &plan).ok());
        CHECK_EQ(plan.sequences()[0].tile_rows, row.tile_rows);
        CHECK_EQ(plan.sequences()[0].tile_count, row.tile_count);
    }
}

// Band ends of any size give the visibility of the exact ends: the clamp is beyond every length.
void TestBandClamp() {
    const int64_t length = 20971520;
    const struct {
        int64_t low, high, first, last;
    } rows[] = {
        {kBandOpenLow, kBandOpenHigh, 0, length},
        {kBandOpenLow, 0, 0, length},
        {length - 1, kBandOpenHigh, length - 1, length},
        {length, kBandOpenHigh, length, length},
        {kBandOpenLow, -length, 0, 0},
        {-(int64_t(1) << 40), int64_t(1) << 40, 0, length},
        {int64_t(1) << 40, int64_t(1) << 41, length, length},
    };
    for (const auto& row : rows) {
        AttentionProblem problem = MakeProblem(1, 1, 16);
        problem.sequences = {MakeSequence(length, length)};
        problem.sequences[0].band_low = row.low;
        problem.sequences[0].band_high = row.high;
        Plan plan;
        CHECK(MakePlan(problem, SocOf("Ascend910B2"), &plan).ok());
        const KeySpan keys = VisibleKeys(plan.sequences()[0], 1, RowOrder::kHeadMajor, 0, int32_t(length));
        CHECK_EQ(keys.last - keys.first, int32_t(row.last - row.first));
    }
}

void TestHuge() {
    const auto start = std::chrono::steady_clock::now();
    AttentionProblem longest = MakeProblem(20, 1, 256);
    longest.sequences = {MakeSequence(20971520, 20971520)};
    longest.sequences[0].band_high = 0;
    Plan plan;
    const Soc soc = SocOf("Ascend910B2");
    CHECK(MakePlan(longest, soc, &plan).ok());
    CHECK_EQ(plan.header().core_count, 24u);
    uint64_t tiles = 0;
    for (uint32_t core = 0; core < plan.header().core_count; ++core) {
        tiles += plan.cores()[core].tile_total;
    }
    CHECK_EQ(tiles, uint64_t(20971520) / 128 * 20);

    AttentionProblem widest = MakeProblem(64, 1, 128);
    for (int64_t b = 0; b < 65536; ++b) {
        widest.sequences.push_back(MakeSequence(1 + b % 3, 1 + b % 5000));
        widest.sequences.back().query = b * (int64_t(1) << 40);
    }
    CHECK(MakePlan(widest, soc, &plan).ok());
    CHECK_EQ(plan.sequences()[65535].query, int64_t(65535) << 40);
    CHECK_EQ(plan.header().sequence_count, 65536u);

    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    CHECK_CONTEXT(seconds.count() < 5.0, std::to_string(seconds.count()));

    // More tiles than the plan can count: no memory holds such tensors. The error says both numbers.
    for (ProblemSequence& sequence : widest.sequences) {
        sequence.query_length = 20971520;
    }
    const Status status = MakePlan(widest, soc, &plan);
    CHECK_EQ(status.code_number(), 561003);
    CHECK_EQ(status.given, std::to_string(int64_t(65536) * 64 * (20971520 / 128)) + " tiles of work");
    CHECK_CONTEXT(status.allowed.find("at most 4294967295 ") == 0, status.allowed);
}

void TestRefusals() {
    const Soc soc = SocOf("Ascend910B2");
    const auto code = [&](void (*spoil)(AttentionProblem&)) {
        AttentionProblem problem = MakeProblem(4, 2, 64);
        problem.sequences = {MakeSequence(10, 10)};
        Plan plan;
        plan.kernel = "untouched";
        CHECK(MakePlan(problem, soc, &plan).ok());
        plan.kernel = "untouched";
        spoil(problem);
        const Status status = MakePlan(problem, soc, &plan);
        CHECK_EQ(plan.kernel, std::string("untouched"));
        CHECK(!status.given.empty() && !status.allowed.empty());
        CHECK_EQ(status.op, std::string("an_operator"));
        return status.code_number();
    };
    CHECK_EQ(code([](AttentionProblem& p) { p.sequences.clear(); }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.head_dim = 272; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.head_dim = 24; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.value_head_dim = 0; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.key_heads = 3; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.query_heads = 0; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.sequences[0].query_length = 0; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.sequences[0].key_length = -1; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.sequences[0].key_length = int64_t(1) << 40; }), 561003);
    CHECK_EQ(code([](AttentionProblem& p) { p.rope_dim = 64; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.key_placement = KeyPlacement::kPagedRows; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.dtype = DType::kFloat32; }), 561002);
}

void TestDescribe() {
    AttentionProblem problem = MakeProblem(4, 2, 64);
    problem.has_mask = true;
    problem.sequences = {MakeSequence(300, 400), MakeSequence(5, 0)};
    problem.sequences[0].band_low = -7;
    problem.sequences[0].band_high = 100;
    Plan plan;
    CHECK(MakePlan(problem, SocOf("Ascend910B4"), &plan).ok());
    const std::string text = Describe(plan);
    for (const char* part : {"attention_float16", "AI cores", "300 queries x 400 keys", "p-7 .. p+100", "zeros",
                             "mask yes", "lse no", "core 0:", "head_dim 64"}) {
        CHECK_CONTEXT(text.find(part) != std::string::npos, std::string(part) + " in\n" + text);
    }
    problem.sequences.assign(100, MakeSequence(3, 3));
    CHECK(MakePlan(problem, SocOf("Ascend910B4"), &plan).ok());
    CHECK(Describe(plan).find("and 84 more sequences") != std::string::npos);
    CHECK(!Describe(Plan()).empty());
}

}  // namespace

int main() {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    TestRandomPlans(random);
    TestFold();
    TestTileKeys();
    TestTileRows();
    TestBandClamp();
    TestHuge();
    TestRefusals();
    TestDescribe();
    return check::Result();
}
