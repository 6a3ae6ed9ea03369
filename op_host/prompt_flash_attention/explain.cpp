// SPDX-License-Identifier: Apache-2.0
// What a request means, in words.
#include "api.h"
#include "plan/words.h"
#include "prompt_flash_attention/check.h"
#include "prompt_flash_attention/lower.h"

namespace ascend_attention::pfa {
namespace {

using S = const Scene&;
bool Always(S) { return true; }
bool Cards(S s) { return s.cards(); }
bool Atlas(S s) { return !s.cards(); }
bool Packed(S s) { return s.packed(); }
bool Mask(S s) { return s.request.atten_mask.has_value(); }
bool Full(S s) { return !s.packed() && s.request.sparse_mode <= 1 && Mask(s); }

RuleGroups<Scene> MakeScopes() {
    const auto group = [](std::initializer_list<RuleSpan> spans, const char* about, bool (*applies)(S)) {
        return RuleGroup<Scene>("PFA", spans, about, applies);
    };
    return {
        group({{3, 6}}, "product, input_layout, ranks, contiguity", Always),
        group({1}, "dtypes", Atlas),
        group({2}, "dtypes of inference cards", Cards),
        group({7, 11, 12}, "heads of query, shapes of key and value", Always),
        group({8}, "query heads per key/value head", Atlas),
        group({9}, "num_key_value_heads and the N axis", [](S s) { return s.layout->input != AxisOrder::kBSH; }),
        group({10, 16}, "heads and limits of inference cards", Cards),
        group({13, 14}, "limits of batch, heads, lengths and head_dim", Atlas),
        group({15}, "N * D", [](S s) { return Atlas(s) && !s.packed() && s.layout->input != AxisOrder::kBNSD; }),
        group({19}, "actual_seq_lengths", [](S s) { return !s.packed() && HasLengths(s.request.actual_seq_lengths); }),
        group({20}, "actual_seq_lengths_kv",
              [](S s) { return !s.packed() && HasLengths(s.request.actual_seq_lengths_kv); }),
        group({21}, "no lengths on inference cards", Cards),
        group({{22, 24}}, "lengths, dtype, head_dim and sparse_mode of TND", Packed),
        group({25}, "queries and keys with sparse_mode 3",
              [](S s) { return s.packed() && s.request.sparse_mode == 3; }),
        group({26}, "sparse_mode", Atlas),
        group({27, 33}, "sparse_mode, pre_tokens and next_tokens of inference cards", Cards),
        group({28}, "dtype of atten_mask", Mask),
        group({29}, "the compressed mask", [](S s) { return s.request.sparse_mode >= 2; }),
        group({30}, "sparse_mode 1 and its mask", [](S s) { return s.request.sparse_mode == 1; }),
        group({31}, "shape of a full mask", Full),
        group({32}, "pre_tokens and next_tokens",
              [](S s) { return s.request.sparse_mode == 4 || (Full(s) && s.request.sparse_mode == 0); }),
        group({36, 37}, "pse_shift", [](S s) { return s.request.pse_shift.has_value(); }),
        group({38}, "no pse_shift on inference cards", Cards),
        group({39}, "no pse_shift in TND", Packed),
        group({40}, "no quantisation on inference cards", Cards),
        group({41, 46}, "scales of int8 inputs", [](S s) { return s.int8_query(); }),
        group({42}, "no such scales for 16-bit inputs", [](S s) { return !s.int8_query(); }),
        group({43}, "quant_scale2 and quant_offset2 together",
              [](S s) { return s.request.quant_scale2 || s.request.quant_offset2; }),
        group({44, 45, 47, 48}, "quant_scale2", [](S s) { return s.request.quant_scale2.has_value(); }),
        group({49}, "rows without keys and quant_offset2", [](S s) { return s.request.quant_offset2.has_value(); }),
    };
}

void AddLayout(const Scene& scene, Page* page) {
    page->Add("layout", Concat("'", scene.layout->name, "': query ", AxesOf(scene.layout->input), ", attention_out ",
                               AxesOf(scene.layout->output)));
    page->Add("query", TensorText(scene.request.query));
    page->Add("key", TensorText(scene.request.key));
    page->Add("value", TensorText(scene.request.value));
    page->Add("heads", HeadsOver(scene.query_heads, scene.key_heads));
    page->Add("head_dim", scene.value_head_dim == scene.head_dim
                              ? Concat(scene.head_dim)
                              : Concat(scene.head_dim, ", value ", scene.value_head_dim));
    page->Add("scale", ScaleText(scene.request.scale_value, scene.head_dim));
}

void AddLengths(const Scene& scene, Page* page) {
    const BandArguments arguments = BandArgumentsOf(scene.request);
    page->Add("visible", VisibleText(arguments));
    const int64_t padded = scene.packed() ? 0 : scene.query_length;
    const bool masked = arguments.mask && arguments.sparse_mode <= 1;
    const auto text = [&](int64_t rows, int64_t keys) {
        return SequenceText(rows, keys, padded, BandOf(arguments, rows, keys), masked);
    };
    AddSequences(QueryLengths(scene), KeyLengths(scene), text, page);
}

void AddQuantisation(const Scene& scene, Page* page) {
    const Request& request = scene.request;
    page->Add("quantised", scene.int8_query()
                               ? "int8 query, key and value; deq_scale1 after Q K^T, quant_scale1 on the "
                                 "exponentials, deq_scale2 after their product with value"
                               : "query, key and value are not");
    AddOutputTerms("quant_scale2", request.quant_scale2, "quant_offset2", request.quant_offset2.has_value(),
                   request.pse_shift.has_value(), page);
}

}  // namespace

const RuleGroups<Scene>& ScopesOfRules() {
    static const RuleGroups<Scene> scopes = MakeScopes();
    return scopes;
}

}  // namespace ascend_attention::pfa

namespace ascend_attention {

Status Explain(const PromptFlashAttentionRequest& request, const Soc& soc, Contract contract, std::string* text) {
    using namespace pfa;
    Scene scene(request, soc, contract);
    if (Status status = CheckDocument(scene); !status.ok()) {
        Advise(scene, &status);
        return status;
    }
    const bool empty = scene.empty_query() || scene.empty_keys();
    Page page;
    page.Title(Concat(kPromptFlashAttention, ", ", scene.extended() ? "extended" : "document", " contract"));
    page.Add("product", ProductText(soc));
    AddLayout(scene, &page);
    AddLengths(scene, &page);
    AddQuantisation(scene, &page);
    page.Add("attention_out", OutputText(InferShapes(scene).attention_out));
    AddEnd(scene, ScopesOfRules(), empty ? OkStatus() : CheckSupported(scene), &page);
    *text = page.text();
    return OkStatus();
}

}  // namespace ascend_attention
