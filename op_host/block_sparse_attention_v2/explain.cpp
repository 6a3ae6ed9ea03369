// SPDX-License-Identifier: Apache-2.0
// What a request means, in words.
#include "api.h"
#include "block_sparse_attention_v2/check.h"
#include "plan/words.h"

namespace ascend_attention::bsa_v2 {
namespace {

struct RuleGroup {
    const char* rules;
    const char* about;
    bool (*applies)(const Scene& scene);
};

using S = const Scene&;
bool Always(S) { return true; }
bool Lists(S s) { return HasLengths(s.request.actual_seq_lengths); }

const RuleGroup kRuleGroups[] = {
    {"BSA-C1, C2, C4 to C6, C8, C9", "dtypes, layouts, block_shape, inner_precise, ranks", Always},
    {"BSA-C10, C12", "dtypes and inner_precise of Atlas A2 and A3", [](S s) { return !s.ascend950(); }},
    {"BSA-C13", "inner_precise of Ascend 950", [](S s) { return s.ascend950(); }},
    {"BSA-C15 to C19", "ranks, head_dim, heads, shapes of key and value", Always},
    {"BSA-C20, C21", "block_sparse_mask", Always},
    {"BSA-C22", "block_shape", [](S s) { return s.request.block_shape.has_value(); }},
    {"BSA-C24, C25, C31 to C34", "arguments that allow one value, softmax_lse_flag", Always},
    {"BSA-C26, C28", "lengths of TND", [](S s) { return s.packed(); }},
    {"BSA-C27", "both lists of lengths or neither", [](S s) { return !s.packed(); }},
    {"BSA-C29", "lengths per batch", [](S s) { return !s.packed() && Lists(s); }},
    {"BSA-C35, C36, C38 to C40", "float8 inputs and their scales", [](S s) { return s.fp8(); }},
    {"BSA-C37", "no scales for 16-bit inputs", [](S s) { return !s.fp8(); }},
};

void AddSizes(const Scene& scene, Page* page) {
    const Request& request = scene.request;
    page->Add("layout", Concat("'", scene.layout->name, "': query and attention_out ", AxesOf(scene.layout->input)));
    page->Add("query", TensorText(request.query));
    page->Add("key", TensorText(request.key));
    page->Add("value", TensorText(request.value));
    page->Add("heads", HeadsOver(scene.query_heads, scene.key_heads));
    page->Add("head_dim", Concat(scene.head_dim));
    page->Add("scale", Concat("scores are multiplied by ", request.scale_value));
    page->Add("visible", Concat("row i sees key j where block_sparse_mask[b, n, i // ", scene.block_x, ", j // ",
                                scene.block_y, "] is 1; the map is not read before the kernel runs"));
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
    if (empty) {
        page.Add("note", scene.empty_query() ? "nothing to compute: query is empty"
                                             : "key and value are empty: no row sees a key");
    }
    page.Add("note", "rows that see no key and rows of padding are zeros in attention_out, +inf in softmax_lse");
    for (const RuleGroup& group : kRuleGroups) {
        if (group.applies(scene)) {
            page.Add("checked", Concat(group.rules, ": ", group.about));
        }
    }
    AddRuns(empty ? OkStatus() : CheckSupported(scene), &page);
    *text = page.text();
    return OkStatus();
}

}  // namespace ascend_attention
