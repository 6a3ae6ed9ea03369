// SPDX-License-Identifier: Apache-2.0
// The plan as the device will read it: every (query head, row) of every sequence in exactly one tile of one core, tile
// sizes within the engine's limits, and quick for the longest sequences the documents allow.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "common/text.h"
#include "cpp/check.h"
#include "op_host/plan_walk.h"
#include "plan/planner.h"
#include "plan/split.h"
#include "plan/visible_keys.h"

namespace {

using namespace ascend_attention;
using plan_walk::CheckCoverage;
using plan_walk::TileWork;
using plan_walk::WalkPlan;

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

void CheckLimits(const AttentionProblem& problem, const Plan& plan, const Soc& soc, const std::string& context) {
    const AttentionPlan& header = plan.header();
    CHECK_EQ_CONTEXT(header.sequence_count, uint32_t(problem.sequences.size()), context);
    CHECK_CONTEXT(header.core_count >= 1 && int64_t(header.core_count) <= soc.aic_count, context);
    CHECK_EQ_CONTEXT(plan.block_count, header.core_count, context);
    const uint64_t rings = uint64_t(header.core_count) * uint64_t(header.workspace_core_stride);
    const uint64_t parts = header.combine_count == 0
                               ? 0
                               : header.core_count * uint64_t(PartSlotBytes(problem.value_head_dim, IsWide(header)));
    CHECK_EQ_CONTEXT(uint64_t(header.workspace_parts), rings, context);
    CHECK_EQ_CONTEXT(plan.workspace_bytes, rings + parts, context);
    CHECK_CONTEXT(plan.workspace_bytes <= MaxWorkspaceBytes(problem.head_dim, problem.value_head_dim, soc), context);
    const bool wide = problem.head_dim > NarrowHeads::kHeadDimMax;
    CHECK_EQ_CONTEXT(header.workspace_core_stride,
                     wide ? WideHeads::kCoreWorkspaceBytes : NarrowHeads::kCoreWorkspaceBytes, context);
    CHECK_EQ_CONTEXT(plan.kernel, std::string(wide ? "attention_wide_" : "attention_") + NameOf(problem.dtype),
                     context);
    CHECK_EQ_CONTEXT(header.head_count * header.group_fold, uint32_t(problem.query_heads), context);
    CHECK_CONTEXT(header.tile_keys % kCubeStep == 0 && header.tile_keys >= 128, context);
    CHECK_CONTEXT(int64_t(header.tile_keys) <= kTileKeysMax, context);
    CHECK_EQ_CONTEXT(plan.bytes.size(),
                     sizeof(AttentionPlan) + problem.sequences.size() * sizeof(SequencePlan) +
                         header.core_count * sizeof(CoreRange) + header.combine_count * sizeof(CombineTask),
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

AttentionProblem RandomProblem(std::mt19937& random) {
    const int64_t key_heads = random() % 2 ? 1 : Between(random, 1, 5);
    const int64_t group = random() % 2 ? 1 : Between(random, 2, 16);
    const int64_t dim = random() % 8 ? 16 * Between(random, 1, 16) : 16 * Between(random, 17, 32);
    AttentionProblem problem = MakeProblem(key_heads * group, key_heads, dim);
    problem.dtype = random() % 2 ? DType::kFloat16 : DType::kBFloat16;
    problem.fold_order = random() % 2 ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
    const int64_t longest = random() % 3 == 0 ? 1 : random() % 2 ? 100 : 700;
    const int64_t most_keys = random() % 2 ? 900 : 20000;
    for (int64_t i = Between(random, 1, 6); i > 0; --i) {
        ProblemSequence sequence =
            MakeSequence(Between(random, 1, longest), random() % 5 ? Between(random, 1, most_keys) : 0);
        if (random() % 2) {
            sequence.band_high = Between(random, -900, most_keys);
        }
        if (random() % 3 == 0) {
            sequence.band_low = Between(random, -900, 900);
        }
        problem.sequences.push_back(sequence);
    }
    return problem;
}

void TestRandomPlans(std::mt19937& random) {
    const char* socs[] = {"Ascend910B2", "Ascend910B4", "Ascend910_9391"};
    int cut = 0;
    int apart = 0;
    for (int round = 0; round < 400; ++round) {
        const AttentionProblem problem = RandomProblem(random);
        const Soc soc = SocOf(socs[round % 3]);
        Plan plan;
        const Status status = MakePlan(problem, soc, &plan);
        const std::string context = Concat("round ", round, "\n", Describe(plan));
        CHECK_CONTEXT(status.ok(), context);
        CheckLimits(problem, plan, soc, context);
        CheckCoverage(problem, plan, context);
        cut += plan.header().combine_count > 0;
        apart += plan.header().heads_apart;
    }
    CHECK_CONTEXT(cut > 40 && cut < 360, std::to_string(cut));  // both ways to split are tried
    CHECK_CONTEXT(apart > 10, std::to_string(apart));
}

// Decode with fewer tiles than cores: all cores work, as evenly as key tiles allow.
void TestCutDecode() {
    const struct {
        int64_t heads, key_heads, dim, batch, query_length, keys;
    } rows[] = {{64, 8, 128, 1, 1, 65536},  {64, 8, 128, 4, 1, 32768},  {8, 1, 64, 1, 4, 100000},
                {128, 1, 576, 16, 1, 8192}, {128, 1, 576, 16, 2, 8192}, {128, 1, 576, 1, 1, 131072}};
    for (const auto& row : rows) {
        for (const char* name : {"Ascend910B2", "Ascend910B4"}) {
            AttentionProblem problem = MakeProblem(row.heads, row.key_heads, row.dim);
            problem.value_head_dim = std::min<int64_t>(512, row.dim);
            problem.sequences.assign(size_t(row.batch), MakeSequence(row.query_length, row.keys));
            const Soc soc = SocOf(name);
            Plan plan;
            CHECK(MakePlan(problem, soc, &plan).ok());
            const std::string context = Describe(plan);
            CheckLimits(problem, plan, soc, context);
            CheckCoverage(problem, plan, context);
            CHECK_CONTEXT(plan.header().combine_count > 0, context);
            std::vector<int64_t> keys(plan.header().core_count, 0);
            int64_t total = 0;
            for (const auto& [tile, work] : WalkPlan(plan, context)) {
                for (const TileWork::Part& part : work.parts) {
                    keys[part.core] += part.end - part.begin;
                    total += part.end - part.begin;
                }
            }
            const int64_t busiest = *std::max_element(keys.begin(), keys.end());
            CHECK_CONTEXT(busiest * soc.aic_count <= total + total / 8, Concat(busiest, " of ", total, "\n", context));
        }
    }
}

// Decode over keys that lie by token in rows of half a line or less: each head has cores of its own, so many for each.
void TestHeadsApart() {
    const struct {
        int64_t heads, key_heads, dim, batch, query_length;
        const char* soc;
        bool by_token, apart;
    } rows[] = {
        {64, 8, 128, 32, 1, "Ascend910B2", true, true},  {64, 8, 128, 32, 4, "Ascend910B2", true, true},
        {16, 4, 64, 3, 1, "Ascend910B2", true, true},    {64, 8, 128, 1, 1, "Ascend910B2", true, true},
        {24, 24, 128, 5, 1, "Ascend910B2", true, true},  {64, 8, 128, 32, 1, "Ascend910B2", false, false},
        {64, 8, 256, 32, 1, "Ascend910B2", true, false},  // whole lines
        {64, 8, 128, 32, 1, "Ascend910B4", true, false},  // 20 cores
        {64, 1, 128, 32, 1, "Ascend910B2", true, false}, {64, 8, 128, 2, 300, "Ascend910B2", true, false},
    };
    for (const auto& row : rows) {
        AttentionProblem problem = MakeProblem(row.heads, row.key_heads, row.dim);
        if (!row.by_token) {
            problem.key = problem.value = {row.dim * 4096, row.dim};
        }
        for (int64_t b = 0; b < row.batch; ++b) {
            problem.sequences.push_back(MakeSequence(row.query_length, 2000 + b % 3 * 700));
        }
        const Soc soc = SocOf(row.soc);
        Plan plan;
        CHECK(MakePlan(problem, soc, &plan).ok());
        const std::string context = Describe(plan);
        CheckLimits(problem, plan, soc, context);
        CheckCoverage(problem, plan, context);
        CHECK_EQ_CONTEXT(plan.header().heads_apart != 0, row.apart, context);
        CHECK_EQ_CONTEXT(context.find("each head on cores of its own") != std::string::npos, row.apart, context);
        for (uint32_t core = 0; row.apart && core < plan.header().core_count; ++core) {
            const uint32_t each = plan.header().core_count / plan.header().head_count;
            CHECK_EQ_CONTEXT(plan.cores()[core].head, core / each, context);
            CHECK_EQ_CONTEXT(plan.cores()[core].sequence, plan.cores()[core % each].sequence, context);
            CHECK_EQ_CONTEXT(plan.cores()[core].key_end, plan.cores()[core % each].key_end, context);
        }
    }
}

// What tiles are, and where they may be cut, is the same on every product: only where they are cut differs.
void TestSocHasNoSay(std::mt19937& random) {
    for (int round = 0; round < 50; ++round) {
        const AttentionProblem problem = RandomProblem(random);
        Plan plans[2];
        CHECK(MakePlan(problem, SocOf("Ascend910B2"), &plans[0]).ok());
        CHECK(MakePlan(problem, SocOf("Ascend910B4"), &plans[1]).ok());
        const AttentionPlan& a = plans[0].header();
        const AttentionPlan& b = plans[1].header();
        CHECK_EQ(a.group_fold, b.group_fold);
        if ((a.combine_count > 0) == (b.combine_count > 0)) {
            CHECK_EQ(a.tile_keys, b.tile_keys);
            CHECK_EQ(a.row_group, b.row_group);
            for (uint32_t i = 0; i < a.sequence_count; ++i) {
                CHECK_EQ(plans[0].sequences()[i].tile_rows, plans[1].sequences()[i].tile_rows);
            }
        }
    }
}

uint32_t FoldOf(int64_t heads, int64_t key_heads, UnsetVector<ProblemSequence> sequences,
                RowOrder order = RowOrder::kTokenMajor) {
    AttentionProblem problem = MakeProblem(heads, key_heads, 64);
    problem.fold_order = order;
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
    CHECK_EQ(FoldOf(8, 1, {MakeSequence(4, 100), MakeSequence(2048, 100)}), 1u);
    // Short queries beside a long one: not worth it; most of the work: folded, if that keeps a position's rows
    // together.
    const UnsetVector<ProblemSequence> mixed = {MakeSequence(512, 1000), MakeSequence(1, 5000), MakeSequence(1, 5000)};
    CHECK_EQ(FoldOf(8, 1, mixed), 8u);
    CHECK_EQ(FoldOf(8, 1, mixed, RowOrder::kHeadMajor), 1u);
    CHECK_EQ(FoldOf(8, 1, {MakeSequence(2048, 2048), MakeSequence(1, 500)}), 1u);
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
    CHECK_EQ(code([](AttentionProblem& p) { p.head_dim = 592; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.value_head_dim = 528; }), 561002);
    CHECK_EQ(code([](AttentionProblem& p) { p.head_dim = 0; }), 561002);
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
    problem.has_mask = false;
    problem.has_sink = true;
    problem.rope_dim = 16;
    problem.key_placement = KeyPlacement::kPagedNz;
    problem.block_size = 32;
    problem.key_block = 4096;
    problem.key_rope_block = 1024;
    problem.value_block = 2048;
    problem.sequences = {MakeSequence(1, 9000)};
    CHECK(MakePlan(problem, SocOf("Ascend910B4"), &plan).ok());
    const std::string cut = Describe(plan);
    for (const char* part :
         {"head_dim 64 with 16 of rope", "sink yes", "in blocks of 32 in NZ form", "4096, 1024 and 2048",
          "the first from key ", "the last up to key ", "combined: sequence 0, head 1, tile 0, from cores"}) {
        CHECK_CONTEXT(cut.find(part) != std::string::npos, std::string(part) + " in\n" + cut);
    }
}

}  // namespace

int main() {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    TestRandomPlans(random);
    TestCutDecode();
    TestHeadsApart();
    TestSocHasNoSay(random);
    TestFold();
    TestTileKeys();
    TestTileRows();
    TestBandClamp();
    TestHuge();
    TestRefusals();
    TestDescribe();
    return check::Result();
}
