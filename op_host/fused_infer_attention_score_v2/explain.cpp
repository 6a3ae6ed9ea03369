// SPDX-License-Identifier: Apache-2.0
// What a request means, in words.
#include "api.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/infer.h"
#include "fused_infer_attention_score_v2/lower.h"
#include "fused_infer_attention_score_v2/rules.h"
#include "plan/words.h"

namespace ascend_attention::fia_v2 {
namespace {

void AddLayout(const Scene& scene, Page* page) {
    page->Add("layout", Concat("'", scene.layout->name, "': query ", AxesOf(scene.layout->input), ", attention_out ",
                               AxesOf(scene.layout->output)));
    page->Add("query", TensorText(scene.request.query));
    const char* forms[] = {"", ", paged: (blocks, block_size, N*D)", ", paged: (blocks, N, block_size, D)",
                           ", paged in NZ form: (blocks, N, D/32 bytes, block_size, 32 bytes)"};
    if (scene.lists()) {
        page->Add("key", TensorListText(*scene.request.key_list));
        page->Add("value", TensorListText(*scene.request.value_list));
    } else {
        page->Add("key", TensorText(scene.request.key) + forms[size_t(scene.cache)]);
        page->Add("value", TensorText(scene.request.value));
    }
    if (scene.paged()) {
        page->Add("paging", Concat("token t is row t % ", scene.request.block_size, " of block block_table[b, t // ",
                                   scene.request.block_size, "]; the ids are not read before the kernel runs"));
    }
    page->Add("heads", HeadsOver(scene.query_heads, scene.key_heads));
    page->Add("head_dim", scene.value_head_dim == scene.head_dim
                              ? Concat(scene.head_dim)
                              : Concat(scene.head_dim, ", value ", scene.value_head_dim));
    if (scene.rope()) {
        page->Add("rope", "scores add query_rope . key_rope over 64 more dimensions; value has none");
    }
    page->Add("scale", ScaleText(scene.request.softmax_scale, scene.head_dim));
}

void AddLengths(const Scene& scene, Page* page) {
    const Request& request = scene.request;
    const BandArguments arguments = BandArgumentsOf(scene);
    page->Add("visible",
              OneFreeRow(scene)
                  ? Concat("one query row: ",
                           request.atten_mask ? "of all keys, it sees those where atten_mask is zero" : "every key",
                           "; sparse_mode has no effect")
                  : VisibleText(arguments));
    const int64_t padded = scene.packed() || scene.single_row() ? 0 : scene.query_length;
    const bool masked = request.atten_mask && (OneFreeRow(scene) || arguments.sparse_mode <= 1);
    const auto text = [&](int64_t row_count, int64_t key_count) {
        return SequenceText(row_count, key_count, padded, BandOf(arguments, row_count, key_count), masked);
    };
    AddSequences(QueryLengths(scene), KeyLengths(scene), text, page);
}

const char* ModeText(const OptionalTensor& scale, int64_t mode) {
    switch (mode) {
        case 0:
            return NumElements(scale->shape) == 1 ? "one for all" : "one per channel";
        case 1:
            return "one per token";
        case 2:
            return "one per head";
        case 3:
            return "one per token and head";
        case 4:
            return "one per token, in blocks";
        default:
            return "one per token and head, in blocks";
    }
}

void AddQuantisation(const Scene& scene, Page* page) {
    const Request& request = scene.request;
    if (scene.int8_query()) {
        page->Add("quantised",
                  "int8 query with dequant_scale_query per row and head, int8 key and value with one "
                  "scale each");
    } else if (scene.antiquant()) {
        const char* type = scene.int4_keys() ? "int4, eight to an int32" : "int8";
        page->Add("quantised",
                  Concat("key: ", type, ", scales ", ModeText(request.dequant_scale_key, request.key_quant_mode),
                         request.dequant_offset_key ? ", with offsets" : ""));
        page->Add("quantised",
                  Concat("value: ", type, ", scales ", ModeText(request.dequant_scale_value, request.value_quant_mode),
                         request.dequant_offset_value ? ", with offsets" : ""));
    } else {
        page->Add("quantised", "query, key and value are not");
    }
    AddOutputTerms("quant_scale_out", request.quant_scale_out, "quant_offset_out", request.quant_offset_out.has_value(),
                   request.pse_shift.has_value(), page);
    if (request.learnable_sink) {
        page->Add("sink", "learnable_sink adds one more score per query head, which takes part in the softmax only");
    }
}

void AddResults(const Scene& scene, Page* page) {
    const AttentionOutputs outputs = InferShapes(scene);
    page->Add("attention_out", OutputText(outputs.attention_out));
    page->Add("softmax_lse",
              OutputText(outputs.softmax_lse) + (scene.request.return_softmax_lse ? "" : ", zero: not asked for"));
}

}  // namespace
}  // namespace ascend_attention::fia_v2

namespace ascend_attention {

Status Explain(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract, std::string* text) {
    using namespace fia_v2;
    if (Status status = CheckListed(soc); !status.ok()) {
        return status;
    }
    Scene scene(request, contract);
    if (Status status = CheckDocument(scene); !status.ok()) {
        Advise(scene, &status);
        return status;
    }
    Page page;
    page.Title(Concat(kFusedInferAttentionScoreV2, ", ", scene.extended() ? "extended" : "document", " contract"));
    page.Add("product", ProductText(soc));
    AddLayout(scene, &page);
    AddLengths(scene, &page);
    AddQuantisation(scene, &page);
    AddResults(scene, &page);
    const Status supported = scene.empty_query() ? OkStatus() : CheckSupported(scene);
    AddEnd(scene, ScopesOfRules(), supported, &page);
    *text = page.text();
    return OkStatus();
}

}  // namespace ascend_attention
