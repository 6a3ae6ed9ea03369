// SPDX-License-Identifier: Apache-2.0
// What the doors get: output shapes and dtypes, what is to be filled without a kernel, what is bound to the kernel.
#include <limits>

#include "api.h"
#include "block_sparse_attention_v2/arguments.h"
#include "block_sparse_attention_v2/check.h"
#include "cpp/check.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/infer.h"
#include "fused_infer_attention_score_v2/lower.h"
#include "op_host/case_file.h"
#include "plan/block_ids.h"
#include "prompt_flash_attention/arguments.h"
#include "prompt_flash_attention/check.h"
#include "prompt_flash_attention/lower.h"

namespace {

using namespace ascend_attention;
using case_file::MakeRequest;
using case_file::Request;

constexpr const char* kBsh =
    "query=float16[2,32,256] key=float16[2,48,128] value=float16[2,48,128] num_query_heads=4 num_key_value_heads=2 ";

Soc TestSoc() {
    Soc soc;
    CHECK(FindSoc("Ascend910B2", &soc).ok());
    return soc;
}

Prepared MustPrepare(const std::string& words) {
    Prepared prepared;
    const Status status = Prepare(MakeRequest(words), TestSoc(), Contract::kDocument, &prepared);
    CHECK_EQ_CONTEXT(status.Text(), std::string("ok"), words);
    AttentionOutputs outputs;
    CHECK(InferOutputs(MakeRequest(words), TestSoc(), Contract::kDocument, &outputs).ok());
    CHECK(outputs.attention_out.shape == prepared.outputs.attention_out.shape);
    CHECK(outputs.softmax_lse.shape == prepared.outputs.softmax_lse.shape);
    return prepared;
}

// Shapes and dtype of every layout of the document, also of those that cannot run yet.
void TestShapes() {
    const std::string mla =
        "query=bfloat16[2,4,8,512] query_rope=bfloat16[2,4,8,64] key=bfloat16[16,128,512] value=bfloat16[16,128,512] "
        "key_rope=bfloat16[16,128,64] num_query_heads=8 num_key_value_heads=1 block_table=int32[2,4] block_size=128 "
        "actual_seq_kvlen={300,512} sparse_mode=3 atten_mask=int8[2048,2048] ";
    const std::string tnd =
        "query=bfloat16[100,8,192] key=bfloat16[150,2,192] value=bfloat16[150,2,128] num_query_heads=8 "
        "num_key_value_heads=2 actual_seq_qlen={40,100} actual_seq_kvlen={50,150} ";
    const struct {
        std::string words;
        const char* out;
        const char* lse;
    } rows[] = {
        {kBsh, "float16 (2, 32, 256)", "(2, 4, 32, 1)"},
        {"input_layout=BSND query=float16[2,32,4,64] key=float16[2,48,2,64] value=float16[2,48,2,64] num_query_heads=4 "
         "num_key_value_heads=2",
         "float16 (2, 32, 4, 64)", "(2, 4, 32, 1)"},
        {"input_layout=BNSD query=bfloat16[2,4,32,64] key=bfloat16[2,4,48,64] value=bfloat16[2,4,48,64] "
         "num_query_heads=4",
         "bfloat16 (2, 4, 32, 64)", "(2, 4, 32, 1)"},
        {"input_layout=BNSD_BSND query=bfloat16[2,4,32,64] key=bfloat16[2,4,48,64] value=bfloat16[2,4,48,64] "
         "num_query_heads=4",
         "bfloat16 (2, 32, 4, 64)", "(2, 4, 32, 1)"},
        {std::string(kBsh) + "quant_scale_out=float32[1]", "int8 (2, 32, 256)", "(2, 4, 32, 1)"},
        {mla + "input_layout=BSND_NBSD", "bfloat16 (8, 2, 4, 512)", "(2, 8, 4, 1)"},
        {tnd + "input_layout=TND", "bfloat16 (100, 8, 128)", "(100, 8, 1)"},
        {"input_layout=NTD_TND query=bfloat16[8,100,192] key=bfloat16[2,150,192] value=bfloat16[2,150,128] "
         "num_query_heads=8 num_key_value_heads=2 actual_seq_qlen={40,100} actual_seq_kvlen={50,150}",
         "bfloat16 (100, 8, 128)", "(100, 8, 1)"},
        {"input_layout=TND_NTD query=bfloat16[20,8,512] query_rope=bfloat16[20,8,64] key=bfloat16[16,128,512] "
         "value=bfloat16[16,128,512] key_rope=bfloat16[16,128,64] num_query_heads=8 num_key_value_heads=1 "
         "block_table=int32[2,4] block_size=128 actual_seq_qlen={8,20} actual_seq_kvlen={300,512}",
         "bfloat16 (8, 20, 512)", "(20, 8, 1)"},
        {"input_layout=BSND query=int8[2,4,8,512] query_rope=bfloat16[2,4,8,64] key=int8[16,1,16,128,32] "
         "value=int8[16,1,16,128,32] key_rope=bfloat16[16,1,4,128,16] num_query_heads=8 num_key_value_heads=1 "
         "block_table=int32[2,4] block_size=128 actual_seq_kvlen={300,512} sparse_mode=3 atten_mask=int8[2048,2048] "
         "dequant_scale_query=float32[2,4,8] dequant_scale_key=float32[1] dequant_scale_value=float32[1] "
         "query_quant_mode=3",
         "bfloat16 (2, 4, 8, 512)", "(2, 8, 4, 1)"},
    };
    for (const auto& row : rows) {
        for (const bool wants_lse : {false, true}) {
            Request request = MakeRequest(row.words);
            request.return_softmax_lse = wants_lse;
            fia_v2::Scene scene(request, Contract::kExtended);  // lse with head_dim 512 is refused by the document
            CHECK_EQ_CONTEXT(fia_v2::CheckDocument(scene).Text(), std::string("ok"), row.words);
            const auto outputs = fia_v2::InferShapes(scene);
            const std::string out =
                std::string(NameOf(outputs.attention_out.dtype)) + " " + ShapeText(outputs.attention_out.shape);
            CHECK_EQ_CONTEXT(out, std::string(row.out), row.words);
            CHECK(outputs.softmax_lse.dtype == DType::kFloat32);
            CHECK_EQ_CONTEXT(ShapeText(outputs.softmax_lse.shape), std::string(wants_lse ? row.lse : "(1,)"),
                             row.words);
            CHECK_EQ(outputs.softmax_lse.fill.has_value(), !wants_lse);
        }
    }
}

// The same for the other operators: results of every kind of request that their documents allow.
template <class AnyRequest, class Check>
void CheckShapes(const std::string& words, const char* out, const char* lse, Check inferred) {
    AnyRequest request;
    std::istringstream in(words);
    case_file::SetArguments(request, in);
    const AttentionOutputs outputs = inferred(request);
    const auto text = [](const OutputSpec& spec) {
        return std::string(NameOf(spec.dtype)) + " " + ShapeText(spec.shape);
    };
    CHECK_EQ_CONTEXT(text(outputs.attention_out), std::string(out), words);
    CHECK_EQ_CONTEXT(text(outputs.softmax_lse), std::string(lse), words);
}

void TestShapesOfPromptFlashAttention() {
    const std::string bsh =
        "query=float16[2,32,256] key=float16[2,48,128] value=float16[2,48,128] num_heads=4 "
        "num_key_value_heads=2 ";
    const std::string bnsd = "query=bfloat16[2,4,32,64] key=bfloat16[2,4,48,64] value=bfloat16[2,4,48,64] num_heads=4 ";
    const std::string int8 =
        "query=int8[2,32,256] key=int8[2,48,256] value=int8[2,48,256] num_heads=4 "
        "deq_scale1=uint64[1] quant_scale1=float32[1] deq_scale2=float32[1] ";
    const struct {
        std::string words;
        const char* out;
    } rows[] = {
        {bsh, "float16 (2, 32, 256)"},
        {bsh + "quant_scale2=float32[256]", "int8 (2, 32, 256)"},
        {bnsd + "input_layout=BNSD", "bfloat16 (2, 4, 32, 64)"},
        {bnsd + "input_layout=BNSD_BSND", "bfloat16 (2, 32, 4, 64)"},
        {int8, "float16 (2, 32, 256)"},
        {int8 + "quant_scale2=float32[1]", "int8 (2, 32, 256)"},
        {"input_layout=TND query=bfloat16[100,8,192] key=bfloat16[150,2,192] value=bfloat16[150,2,128] num_heads=8 "
         "num_key_value_heads=2 actual_seq_lengths={40,100} actual_seq_lengths_kv={50,150}",
         "bfloat16 (100, 8, 128)"},
    };
    for (const auto& row : rows) {
        CheckShapes<PromptFlashAttentionRequest>(row.words, row.out, "float32 (0,)", [&](const auto& request) {
            const Soc soc = TestSoc();
            pfa::Scene scene(request, soc, Contract::kDocument);
            CHECK_EQ_CONTEXT(pfa::CheckDocument(scene).Text(), std::string("ok"), row.words);
            return pfa::InferShapes(scene);
        });
    }
}

void TestShapesOfBlockSparseAttention() {
    const std::string scales =
        "q_dequant_scale=float32[2,4,2,1] k_dequant_scale=float32[2,2,2,1] "
        "v_dequant_scale=float32[2,2,2,1] block_shape={128,256} block_sparse_mask=int8[2,4,2,2] ";
    const struct {
        std::string words;
        const char* soc;
        const char* out;
        const char* lse;
    } rows[] = {
        {"query=float16[300,4,128] key=float16[400,2,128] value=float16[400,2,128] num_key_value_heads=2 "
         "actual_seq_lengths={100,200} actual_seq_lengths_kv={150,250} block_sparse_mask=int8[2,4,2,2] "
         "softmax_lse_flag=1",
         "Ascend910B2", "float16 (300, 4, 128)", "float32 (300, 4, 1)"},
        {"q_input_layout=BSND kv_input_layout=BSND query=bfloat16[2,200,4,64] key=bfloat16[2,300,2,64] "
         "value=bfloat16[2,300,2,64] num_key_value_heads=2 block_sparse_mask=int8[2,4,2,3] softmax_lse_flag=1",
         "Ascend910_9362", "bfloat16 (2, 200, 4, 64)", "float32 (2, 200, 4, 1)"},
        {scales + "q_input_layout=BNSD kv_input_layout=BNSD query=float8_e4m3fn[2,4,200,128] "
                  "key=float8_e4m3fn[2,2,300,128] value=float8_e4m3fn[2,2,300,128] num_key_value_heads=2",
         "Ascend950PR_9589", "bfloat16 (2, 4, 200, 128)", "float32 (0,)"},
    };
    for (const auto& row : rows) {
        CheckShapes<BlockSparseAttentionV2Request>(row.words, row.out, row.lse, [&](const auto& request) {
            Soc soc;
            CHECK(FindSoc(row.soc, &soc).ok());
            bsa_v2::Scene scene(request, soc);
            CHECK_EQ_CONTEXT(bsa_v2::CheckDocument(scene).Text(), std::string("ok"), row.words);
            return bsa_v2::InferShapes(scene);
        });
    }
}

void CheckBinding(const Prepared& prepared, KernelArgument argument, const char* name, bool present, bool written,
                  uint64_t bytes) {
    const BufferBinding& binding = prepared.arguments[size_t(argument)];
    CHECK_EQ(std::string(binding.name), std::string(name));
    CHECK_EQ_CONTEXT(binding.present, present, name);
    CHECK_EQ_CONTEXT(binding.written, written, name);
    CHECK_EQ_CONTEXT(binding.bytes, bytes, name);
}

void TestLaunch() {
    const Prepared plain = MustPrepare(kBsh);
    CHECK(plain.launch);
    CHECK(!plain.outputs.attention_out.fill);
    CHECK(plain.outputs.softmax_lse.fill == 0.0f);
    CHECK_EQ(plain.plan.kernel, std::string("attention_float16"));
    CheckBinding(plain, KernelArgument::kQuery, "query", true, false, 2 * 32 * 256 * 2);
    CheckBinding(plain, KernelArgument::kKey, "key", true, false, 2 * 48 * 128 * 2);
    CheckBinding(plain, KernelArgument::kValue, "value", true, false, 2 * 48 * 128 * 2);
    CheckBinding(plain, KernelArgument::kAttenMask, "atten_mask", false, false, 0);
    CheckBinding(plain, KernelArgument::kAttentionOut, "attention_out", true, true, 2 * 32 * 256 * 2);
    CheckBinding(plain, KernelArgument::kSoftmaxLse, "softmax_lse", false, true, 0);
    CheckBinding(plain, KernelArgument::kWorkspace, "workspace", true, true, plain.plan.workspace_bytes);
    CheckBinding(plain, KernelArgument::kPlan, "plan", true, false, plain.plan.bytes.size());

    const Prepared rich = MustPrepare(std::string(kBsh) + "atten_mask=bool[2,1,40,64] return_softmax_lse=true");
    CheckBinding(rich, KernelArgument::kAttenMask, "atten_mask", true, false, 2 * 40 * 64);
    CheckBinding(rich, KernelArgument::kSoftmaxLse, "softmax_lse", true, true, 2 * 4 * 32 * 4);
    CHECK(!rich.outputs.softmax_lse.fill);
    CHECK_EQ(rich.plan.header().has_mask, 1u);
    CHECK_EQ(rich.plan.header().mask_row, int64_t(64));

    // The compressed mask is a promise: it is not even bound.
    const Prepared causal = MustPrepare(std::string(kBsh) + "atten_mask=bool[2048,2048] sparse_mode=3");
    CheckBinding(causal, KernelArgument::kAttenMask, "atten_mask", false, false, 0);
    CHECK_EQ(causal.plan.header().has_mask, 0u);
}

// What is bound, whether or not the engine can run it yet.
Prepared MustPlan(const std::string& words) {
    const Request request = MakeRequest(words);
    fia_v2::Scene scene(request, Contract::kExtended);
    CHECK_EQ_CONTEXT(fia_v2::CheckDocument(scene).Text(), std::string("ok"), words);
    Prepared prepared;
    prepared.outputs = fia_v2::InferShapes(scene);
    const KernelInputs inputs = {request.query,      request.key,        request.value,     request.query_rope,
                                 request.key_rope,   request.atten_mask, request.pse_shift, request.learnable_sink,
                                 request.block_table};
    CHECK_EQ_CONTEXT(
        PlanLaunch(fia_v2::Lower(scene), inputs, fia_v2::ListAddresses(scene), TestSoc(), &prepared).Text(),
        std::string("ok"), words);
    return prepared;
}

void TestBoundInputs() {
    const Prepared rope = MustPlan(
        "input_layout=TND query=bfloat16[10,4,128] query_rope=bfloat16[10,4,64] key=bfloat16[20,2,128] "
        "key_rope=bfloat16[20,2,64] value=bfloat16[20,2,128] num_query_heads=4 num_key_value_heads=2 "
        "actual_seq_qlen={4,10} actual_seq_kvlen={5,20} learnable_sink=bfloat16[4]");
    CheckBinding(rope, KernelArgument::kQueryRope, "query_rope", true, false, 10 * 4 * 64 * 2);
    CheckBinding(rope, KernelArgument::kKeyRope, "key_rope", true, false, 20 * 2 * 64 * 2);
    CheckBinding(rope, KernelArgument::kLearnableSink, "learnable_sink", true, false, 4 * 2);
    CheckBinding(rope, KernelArgument::kPseShift, "pse_shift", false, false, 0);
    CheckBinding(rope, KernelArgument::kBlockTable, "block_table", false, false, 0);
    CHECK_EQ(rope.plan.header().rope_dim, 64u);
    CHECK_EQ(rope.plan.header().head_dim, 192u);
    CHECK_EQ(rope.plan.header().has_sink, 1u);

    const Prepared paged = MustPlan(
        "query=float16[2,32,256] key=float16[16,128,128] value=float16[16,128,128] num_query_heads=4 "
        "num_key_value_heads=2 block_table=int32[2,4] block_size=128 actual_seq_kvlen={300,512} "
        "pse_shift=float16[1,4,32,512]");
    CheckBinding(paged, KernelArgument::kKey, "key", true, false, 16 * 128 * 128 * 2);
    CheckBinding(paged, KernelArgument::kBlockTable, "block_table", true, false, 2 * 4 * 4);
    CheckBinding(paged, KernelArgument::kPseShift, "pse_shift", true, false, 4 * 32 * 512 * 2);
    CHECK_EQ(paged.plan.header().block_size, 128u);
    CHECK(paged.plan.header().key_placement == KeyPlacement::kPagedRows);
    CHECK_EQ(paged.plan.sequences()[1].key, int64_t(4));
    CHECK_EQ(paged.lists.heads, int64_t(0));

    // Lists: the kernel is given lists of addresses, one for each key head of each tensor.
    const Prepared lists = MustPlan(
        "input_layout=BNSD query=float16[2,4,32,64] key=[float16[1,2,48,64],float16[1,2,9,64]] "
        "value=[float16[1,2,48,64],float16[1,2,9,64]] num_query_heads=4 num_key_value_heads=2");
    CheckBinding(lists, KernelArgument::kKey, "key", true, false, 2 * 2 * 8);
    CheckBinding(lists, KernelArgument::kValue, "value", true, false, 2 * 2 * 8);
    CHECK_EQ(lists.lists.heads, int64_t(2));
    CHECK((lists.lists.head_bytes == std::vector<int64_t>{48 * 64 * 2, 9 * 64 * 2}));
    CHECK_EQ(lists.plan.sequences()[1].key_list, int64_t(2));
}

// Ids of blocks that some row sees have to be in the cache; what the others are does not matter.
void TestBlockIds() {
    const std::string words =
        "query=float16[2,2,256] key=float16[5,128,128] value=float16[5,128,128] num_query_heads=4 "
        "num_key_value_heads=2 block_table=int32[2,4] block_size=128 actual_seq_kvlen={300,129} ";
    const auto found = [&](const std::string& more, std::vector<int32_t> table) {
        const std::optional<UnknownBlock> unknown = FindUnknownBlock(MustPlan(words + more).plan, table.data(), 4, 5);
        return unknown ? Concat(unknown->batch, " ", unknown->column, " ", unknown->id, " ", unknown->first, " ",
                                unknown->last)
                       : "none";
    };
    CHECK_EQ(found("", {4, 0, 4, -1, 1, 2, 99, -7}), std::string("none"));
    CHECK_EQ(found("", {4, 0, 5, -1, 1, 2, 99, -7}), std::string("0 2 5 256 299"));
    CHECK_EQ(found("", {4, 0, 4, -1, 1, -1, 99, -7}), std::string("1 1 -1 128 128"));
    const std::string window = "sparse_mode=4 atten_mask=int8[2048,2048] pre_tokens=20 next_tokens=0";
    CHECK_EQ(found(window, {77, -1, 4, -1, 1, 2, 99, -7}), std::string("none"));
    CHECK_EQ(found(window, {77, -1, 4, -1, 9, 2, 99, -7}), std::string("1 0 9 0 127"));
}

void TestNothingToRun() {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const char* keys : {"key=float16[2,0,128] value=float16[2,0,128]", "actual_seq_kvlen={0}",
                             "actual_seq_kvlen={0,0}", "actual_seq_qlen={0}"}) {
        const Prepared prepared = MustPrepare(std::string(kBsh) + keys + " return_softmax_lse=true");
        CHECK_CONTEXT(!prepared.launch, keys);
        CHECK(prepared.outputs.attention_out.fill == 0.0f);
        CHECK(prepared.outputs.softmax_lse.fill == infinity);
        CHECK_EQ(ShapeText(prepared.outputs.attention_out.shape), std::string("(2, 32, 256)"));
    }
    const Prepared quiet = MustPrepare(std::string(kBsh) + "actual_seq_kvlen={0}");
    CHECK(quiet.outputs.softmax_lse.fill == 0.0f);
    CHECK_EQ(ShapeText(quiet.outputs.softmax_lse.shape), std::string("(1,)"));
    // An empty query is answered whatever else is asked for, as long as that is legal.
    for (const char* query : {"query=float16[2,0,256]",
                              "query=float16[0,32,256] key=float16[0,48,128] "
                              "value=float16[0,48,128]",
                              "query=float16[2,0,256] quant_scale_out=float32[1]"}) {
        const Prepared prepared = MustPrepare(std::string(kBsh) + query);
        CHECK_CONTEXT(!prepared.launch, query);
        CHECK_EQ_CONTEXT(NumElements(prepared.outputs.attention_out.shape), int64_t(0), query);
    }
    // One batch with keys is enough for a launch; the other's rows become a sequence without keys.
    const Prepared mixed = MustPrepare(std::string(kBsh) + "actual_seq_kvlen={0,48} actual_seq_qlen={32,20}");
    CHECK(mixed.launch);
    CHECK_EQ(mixed.plan.header().sequence_count, 3u);
    CHECK_EQ(mixed.plan.sequences()[0].key_length, 0);
    CHECK_EQ(mixed.plan.sequences()[0].query_length, 32);
    CHECK_EQ(mixed.plan.sequences()[1].query_length, 20);
    CHECK_EQ(mixed.plan.sequences()[2].query_length, 12);
    CHECK_EQ(mixed.plan.sequences()[2].key_length, 0);
}

void TestRefusalChangesNothing() {
    Prepared prepared;
    prepared.plan.kernel = "untouched";
    const Status status =
        Prepare(MakeRequest(std::string(kBsh) + "sparse_mode=7"), TestSoc(), Contract::kDocument, &prepared);
    CHECK_EQ(status.Text(),
             std::string("npu_fused_infer_attention_score_v2: sparse_mode: given 7; allowed: 0, 1, 2, 3, "
                         "4 [FIA-C42, code 161002]"));
    CHECK_EQ(prepared.plan.kernel, std::string("untouched"));
    CHECK(!prepared.launch);
}

void TestCheckOutputs() {
    Request asking;
    asking.return_softmax_lse = true;
    const Prepared prepared = MustPrepare(std::string(kBsh) + "return_softmax_lse=true");
    const auto tensor = [](const char* text) { return *case_file::ParseTensor(text); };
    const TensorView out = tensor("float16[2,32,256]");
    const TensorView lse = tensor("float32[2,4,32,1]");
    CHECK(CheckOutputs(asking, prepared.outputs, out, lse).ok());
    for (const char* wrong : {"float16[2,32,255]", "float16[2,32,4,64]", "bfloat16[2,32,256]", "float16[2,32,256]~"}) {
        const Status status = CheckOutputs(asking, prepared.outputs, tensor(wrong), lse);
        CHECK_EQ(status.code_number(), 161002);
        CHECK_EQ(status.argument, std::string("attention_out"));
    }
    for (const char* wrong : {"float32[1]", "float16[2,4,32,1]", "float32[2,4,32,1]~"}) {
        CHECK_EQ(CheckOutputs(asking, prepared.outputs, out, tensor(wrong)).argument, std::string("softmax_lse"));
    }
    const Prepared quiet = MustPrepare(kBsh);
    for (const char* placeholder : {"float16[1]", "float32[1]", "float32[0]", "float32[2,4,32,1]"}) {
        CHECK_CONTEXT(CheckOutputs(Request(), quiet.outputs, out, tensor(placeholder)).ok(), placeholder);
    }
}

}  // namespace

int main() {
    TestShapes();
    TestShapesOfPromptFlashAttention();
    TestShapesOfBlockSparseAttention();
    TestLaunch();
    TestBoundInputs();
    TestBlockIds();
    TestNothingToRun();
    TestRefusalChangesNothing();
    TestCheckOutputs();
    return check::Result();
}
