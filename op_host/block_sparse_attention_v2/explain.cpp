// SPDX-License-Identifier: Apache-2.0
// What a request means, in words.
#include "api.h"
#include "block_sparse_attention_v2/check.h"
#include "plan/words.h"

namespace ascend_attention::bsa_v2 {
namespace {

using S = const Scene&;
bool Always(S) { return true; }
bool AnyFp8(S s) {
    const auto fp8 = [](const OptionalTensor& tensor) { return tensor->dtype == DType::kFloat8E4M3FN; };
    return fp8(s.request.query) || fp8(s.request.key) || fp8(s.request.value);
}
bool Lists(S s) { return HasLengths(s.request.actual_seq_lengths); }

RuleGroups<Scene> MakeScopes() {
    const auto group = [](std::initializer_list<RuleSpan> spans, const char* about, bool (*applies)(S)) {
        return RuleGroup<Scene>("BSA", spans, about, applies);
    };
    return {
        group({1, 2, {4, 6}, 8, 9}, "dtypes, layouts, block_shape, inner_precise, ranks", Always),
        group({10, 12}, "dtypes and inner_precise of Atlas A2 and A3", [](S s) { return !s.ascend950(); }),
        group({13}, "inner_precise of Ascend 950", [](S s) { return s.ascend950(); }),
        group({{15, 19}}, "ranks, head_dim, heads, shapes of key and value", Always),
        group({20, 21}, "block_sparse_mask", Always),
        group({22}, "block_shape", [](S s) { return s.request.block_shape.has_value(); }),
        group({24, 25, {31, 34}}, "arguments that allow one value, softmax_lse_flag", Always),
        group({26, 28}, "lengths of TND", [](S s) { return s.packed(); }),
        group({27}, "both lists of lengths or neither", [](S s) { return !s.packed(); }),
        group({29}, "lengths per batch", [](S s) { return !s.packed() && Lists(s); }),
        group({35}, "float8 in all of query, key and value", AnyFp8),
        group({36, {38, 40}}, "scales of float8 inputs", [](S s) { return s.fp8(); }),
        group({37}, "no scales for 16-bit inputs", [](S s) { return !s.fp8(); }),
    };
}

void AddSizes(const Scene& scene, Page* page) {
    const Request& request = scene.request;
    page->Add("layout", Concat("'", scene.layout->name, "': query and attention_out ", AxesOf(scene.layout->input)));
    page->Add("query", TensorText(request.query));
    page->Add("key", TensorText(request.key));
    page->Add("value", TensorText(request.value));
    page->Add("heads", HeadsOver(scene.query_heads, scene.key_heads));
    page->Add("head_dim", Concat(scene.head_dim));
    page->Add("scale", ScaleText(request.scale_value, scene.head_dim));
    page->Add("visible", Concat("row i sees key j where block_sparse_mask[b, n, i // ", scene.block_x, ", j // ",
                                scene.block_y, "] is not 0; the map is not read before the kernel runs"));
    const auto blocks = [](int64_t length, int64_t unit) { return length / unit + (length % unit != 0); };
    const auto text = [&](int64_t row_count, int64_t key_count) {
        return Concat(row_count, " queries, ", key_count, " keys: ", blocks(row_count, scene.block_x), " by ",
                      blocks(key_count, scene.block_y), " blocks");
    };
    if (Lists(scene)) {
        AddSequences(*request.actual_seq_lengths, *request.actual_seq_lengths_kv, text, page);
    } else {  // the document sets no limit to the batch: no list of that length is made
        AddEqualSequences(scene.batch, text(scene.query_length, scene.key_length), page);
    }
    page->Add("quantised", scene.fp8() ? Concat("float8_e4m3fn; a factor for every 128 rows of query and every ",
                                                scene.block_y, " of key and value")
                                       : "query, key and value are not");
}

}  // namespace

const RuleGroups<Scene>& ScopesOfRules() {
    static const RuleGroups<Scene> scopes = MakeScopes();
    return scopes;
}

}  // namespace ascend_attention::bsa_v2

namespace ascend_attention {

Status Explain(const BlockSparseAttentionV2Request& request, const Soc& soc, Contract contract, std::string* text) {
    using namespace bsa_v2;
    Scene scene(request, soc);
    if (Status status = CheckDocument(scene); !status.ok()) {
        return status;
    }
    const bool empty = scene.empty_query() || scene.empty_keys();
    Page page;
    page.Title(
        Concat(kBlockSparseAttentionV2, ", ", contract == Contract::kExtended ? "extended" : "document", " contract"));
    page.Add("product", ProductText(soc));
    AddSizes(scene, &page);
    const AttentionOutputs outputs = InferShapes(scene);
    page.Add("attention_out", OutputText(outputs.attention_out));
    page.Add("softmax_lse", OutputText(outputs.softmax_lse) + (request.wants_lse() ? "" : ", empty: not asked for"));
    AddEnd(scene, ScopesOfRules(), empty ? OkStatus() : CheckSupported(scene), &page);
    *text = page.text();
    return OkStatus();
}

}  // namespace ascend_attention
