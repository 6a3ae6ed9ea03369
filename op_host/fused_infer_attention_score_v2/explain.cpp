// SPDX-License-Identifier: Apache-2.0
// What a request means, in words.
#include <algorithm>

#include "api.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/infer.h"
#include "fused_infer_attention_score_v2/lower.h"
#include "fused_infer_attention_score_v2/rules.h"

namespace ascend_attention::fia_v2 {
namespace {

// "name          text", one line; further lines of the same name are indented.
class Page {
public:
    void Add(const std::string& name, const std::string& text) {
        constexpr size_t kColumn = 14;
        std::string head = name == last_ ? "" : name;
        last_ = name;
        head.resize(std::max(kColumn, head.size() + 1), ' ');
        text_ += head + text + "\n";
    }
    void Title(const std::string& text) { text_ += text + "\n"; }
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::string last_;
};

const char* AxesOf(AxisOrder order) {
    switch (order) {
        case AxisOrder::kBSH:
            return "(B, S, N*D)";
        case AxisOrder::kBSND:
            return "(B, S, N, D)";
        case AxisOrder::kBNSD:
            return "(B, N, S, D)";
        case AxisOrder::kTND:
            return "(T, N, D)";
        case AxisOrder::kNTD:
            return "(N, T, D)";
        case AxisOrder::kNBSD:
            return "(N, B, S, D)";
    }
    return "";
}

void AddLayout(const Scene& scene, Page* page) {
    page->Add("layout", Concat("'", scene.layout->name, "': query ", AxesOf(scene.layout->input), ", attention_out ",
                               AxesOf(scene.layout->output)));
    page->Add("query", TensorText(scene.request.query));
    const char* forms[] = {"", ", paged: (blocks, block_size, N*D)", ", paged: (blocks, N, block_size, D)",
                           ", paged in NZ form: (blocks, N, D/32 bytes, block_size, 32 bytes)"};
    page->Add("key", TensorText(scene.request.key) + forms[size_t(scene.cache)]);
    page->Add("value", TensorText(scene.request.value));
    if (scene.paged()) {
        page->Add("paging", Concat("token t is row t % ", scene.request.block_size, " of block block_table[b, t // ",
                                   scene.request.block_size, "]; the ids are not read before the kernel runs"));
    }
    const int64_t group = scene.query_heads / scene.key_heads;
    page->Add("heads", Concat(scene.query_heads, " query heads over ", scene.key_heads,
                              group == 1 ? " key/value heads" : Concat(": query head h reads key head h // ", group)));
    page->Add("head_dim", scene.value_head_dim == scene.head_dim
                              ? Concat(scene.head_dim)
                              : Concat(scene.head_dim, ", value ", scene.value_head_dim));
    if (scene.rope()) {
        page->Add("rope", "scores add query_rope . key_rope over 64 more dimensions; value has none");
    }
    page->Add("scale", Concat("scores are multiplied by ", scene.request.softmax_scale));
}

struct Sequence {
    int64_t rows = 0;
    int64_t keys = 0;
    bool operator==(const Sequence& other) const { return rows == other.rows && keys == other.keys; }
};

std::vector<Sequence> SequencesOf(const Scene& scene) {
    const Request& request = scene.request;
    std::vector<int64_t> rows;
    std::vector<int64_t> keys;
    if (scene.packed()) {
        rows = Differences(*request.actual_seq_qlen);
        keys = scene.paged() ? *request.actual_seq_kvlen : Differences(*request.actual_seq_kvlen);
    } else {
        rows = QueryLengths(scene);
        keys = KeyLengths(scene);
    }
    std::vector<Sequence> sequences(rows.size());
    for (size_t b = 0; b < rows.size(); ++b) {
        sequences[b] = {rows[b], keys[b]};
    }
    return sequences;
}

// One query row without rope sees every key, whatever sparse_mode says.
bool OneFreeRow(const Scene& scene) { return scene.single_row() && !scene.rope(); }

std::string RangeText(const Band& band, int64_t row, int64_t keys) {
    const int64_t first = std::max<int64_t>(0, band.low + row);
    const int64_t last = std::min<int64_t>(keys - 1, band.high + row);
    return first > last ? "no key" : first == last ? Concat("key ", first) : Concat("keys ", first, " to ", last);
}

std::string SequenceText(const Scene& scene, const Sequence& sequence) {
    std::string text = Concat(sequence.rows, sequence.rows == 1 ? " query, " : " queries, ", sequence.keys,
                              sequence.keys == 1 ? " key" : " keys");
    if (!scene.packed() && !scene.single_row() && sequence.rows < scene.query_length) {
        text += Concat(" (rows ", sequence.rows, " to ", scene.query_length - 1, " are padding)");
    }
    if (sequence.rows == 0) {
        return text;
    }
    const Band band = OneFreeRow(scene) ? Band() : BandOf(BandArgumentsOf(scene.request), sequence.rows, sequence.keys);
    const std::string first = RangeText(band, 0, sequence.keys);
    const std::string last = RangeText(band, sequence.rows - 1, sequence.keys);
    if (sequence.rows == 1) {
        return text + "; it sees " + first;
    }
    return text + (first == last ? Concat("; every row sees ", first)
                                 : Concat("; row 0 sees ", first, ", row ", sequence.rows - 1, " ", last));
}

// The documents' default stands for all there are.
std::string TokensText(int64_t tokens) {
    constexpr int64_t kAll = 2147483647;
    return tokens >= kAll ? "all" : tokens < 0 ? Concat("(", tokens, ")") : std::to_string(tokens);
}

std::string SeesText(const Scene& scene) {
    const Request& request = scene.request;
    const char* mask = request.atten_mask ? ", where atten_mask is zero" : "";
    if (OneFreeRow(scene)) {
        return Concat("one query row: every key", mask, "; sparse_mode has no effect");
    }
    switch (request.sparse_mode) {
        case 0:
            return request.atten_mask ? Concat("sparse_mode 0: row i sees keys i - ", TokensText(request.pre_tokens),
                                               " to i + ", TokensText(request.next_tokens), mask)
                                      : "sparse_mode 0 without atten_mask: every key; pre_tokens and next_tokens have "
                                        "no effect";
        case 1:
            return Concat("sparse_mode 1: every key", mask);
        case 2:
            return "sparse_mode 2: row i sees keys 0 to i; the content of atten_mask is not read";
        case 3:
            return "sparse_mode 3: row i sees keys 0 to i + (keys - queries); the content of atten_mask is not read";
        case 4:
            return Concat("sparse_mode 4: with d = i + (keys - queries), row i sees keys d - ",
                          TokensText(request.pre_tokens), " to d + ", TokensText(request.next_tokens),
                          "; the content of atten_mask is not read");
        default:
            return Concat("sparse_mode ", request.sparse_mode);
    }
}

void AddSequences(const Scene& scene, Page* page) {
    constexpr int kShown = 16;
    page->Add("visible", SeesText(scene));
    const std::vector<Sequence> sequences = SequencesOf(scene);
    int shown = 0;
    for (size_t from = 0; from < sequences.size();) {
        size_t to = from + 1;
        while (to < sequences.size() && sequences[to] == sequences[from]) {
            ++to;
        }
        if (++shown > kShown) {
            page->Add("lengths", Concat("and ", sequences.size() - from, " more"));
            return;
        }
        const std::string which =
            to - from == 1 ? Concat("sequence ", from) : Concat("sequences ", from, " to ", to - 1);
        page->Add("lengths", which + ": " + SequenceText(scene, sequences[from]));
        from = to;
    }
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
    if (request.quant_scale_out) {
        page->Add("quantised", Concat("attention_out: int8, quant_scale_out ",
                                      NumElements(request.quant_scale_out->shape) == 1 ? "for all" : "per channel",
                                      request.quant_offset_out ? ", with quant_offset_out" : ""));
    }
    if (request.pse_shift) {
        page->Add("bias", "pse_shift is added to the scaled scores");
    }
    if (request.learnable_sink) {
        page->Add("sink", "learnable_sink adds one more score per query head, which takes part in the softmax only");
    }
}

void AddResults(const Scene& scene, Page* page) {
    const FusedInferAttentionScoreV2Outputs outputs = InferShapes(scene);
    const auto text = [](const OutputSpec& spec) { return Concat(NameOf(spec.dtype), " ", ShapeText(spec.shape)); };
    page->Add("attention_out", text(outputs.attention_out));
    page->Add("softmax_lse",
              text(outputs.softmax_lse) + (scene.request.return_softmax_lse ? "" : ", zero: not asked for"));
    if (scene.empty_query() || scene.empty_keys()) {
        page->Add("note", scene.empty_query() ? "nothing to compute: query is empty"
                                              : "key and value are empty: no row sees a key");
    }
    page->Add("note", "rows that see no key and rows of padding are zeros in attention_out, +inf in softmax_lse");
}

void AddRules(const Scene& scene, Page* page) {
    for (const RuleGroup& group : RuleGroups()) {
        if (group.applies(scene)) {
            page->Add("checked", group.rules + ": " + group.about);
        }
    }
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
        MentionUnsupported(scene, &status);
        return status;
    }
    Page page;
    page.Title(Concat(kFusedInferAttentionScoreV2, ", ", scene.extended() ? "extended" : "document", " contract"));
    AddLayout(scene, &page);
    AddSequences(scene, &page);
    AddQuantisation(scene, &page);
    AddResults(scene, &page);
    AddRules(scene, &page);
    const Status supported = scene.empty_query() ? OkStatus() : CheckSupported(scene);
    page.Add("runs", supported.ok() ? "yes"
                                    : Concat("not supported yet: ", supported.argument, " ", supported.given,
                                             "; so far: ", supported.allowed));
    *text = page.text();
    return OkStatus();
}

}  // namespace ascend_attention
