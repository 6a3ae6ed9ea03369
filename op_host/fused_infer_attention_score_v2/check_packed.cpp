// SPDX-License-Identifier: Apache-2.0
// FIA 12: TND, TND_NTD and NTD_TND, where the length lists say which tokens belong together.
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

constexpr int64_t kTokensMax = 1048576;
constexpr int64_t kBatchMax = 4096;

Status CheckPackedLengths(const Scene& scene) {
    const Request& request = scene.request;
    if (scene.tokens > kTokensMax || scene.key_tokens > kTokensMax) {
        const bool query = scene.tokens > kTokensMax;
        return Refuse("FIA-C132", query ? "query" : "key", Concat("T ", query ? scene.tokens : scene.key_tokens),
                      Concat("at most ", kTokensMax));
    }
    if (!HasLengths(request.actual_seq_qlen) || !HasLengths(request.actual_seq_kvlen)) {
        const bool query = HasLengths(request.actual_seq_qlen);
        return Refuse("FIA-C133", query ? "actual_seq_kvlen" : "actual_seq_qlen",
                      NoLengths(query ? request.actual_seq_kvlen : request.actual_seq_qlen),
                      Concat("one entry per sequence with input_layout ", scene.layout->name),
                      query && scene.paged() ? "The keys of each sequence in its blocks, not cumulative."
                                             : Concat("Where each sequence ends, cumulative: [",
                                                      query ? scene.key_tokens : scene.tokens, "] for a single one."));
    }
    const int64_t queries = int64_t(request.actual_seq_qlen->size());
    const int64_t keys = int64_t(request.actual_seq_kvlen->size());
    if (queries != keys || queries > kBatchMax) {
        return Refuse(scene.head_dim == 512 && queries != keys ? "FIA-C141" : "FIA-C133", "actual_seq_kvlen",
                      Concat(queries, " query and ", keys, " key lengths"),
                      Concat("equal counts, at most ", kBatchMax));
    }
    const CumulativeRules query_rules = {kFusedInferAttentionScoreV2, "actual_seq_qlen", "FIA-C134", "FIA-C136"};
    Status status = CheckCumulative(query_rules, *request.actual_seq_qlen, scene.tokens);
    if (!status.ok() || scene.paged()) {
        return status;
    }
    const CumulativeRules key_rules = {kFusedInferAttentionScoreV2, "actual_seq_kvlen", "FIA-C135", "FIA-C136"};
    return CheckCumulative(key_rules, *request.actual_seq_kvlen, scene.key_tokens);
}

Status CheckPackedMask(const Scene& scene) {
    const int64_t mode = scene.request.sparse_mode;
    const bool mask = scene.request.atten_mask.has_value();
    const bool band = mode == 4 && scene.head_dim != 512;
    if (scene.extended() && mode == 9) {
        return OkStatus();  // the tree mask of newer documents: legal there, not built yet
    }
    // One row per sequence sees every key up to its own: the mask is not needed.
    const bool one_row_causal = scene.extended() && !mask && (mode == 3 || band) && AllWithin(QueryLengths(scene), 1);
    if (!(mode == 0 && !mask) && !(mode == 3 && mask) && !(band && mask) && !one_row_causal) {
        return Refuse("FIA-C137", "sparse_mode", Concat(mode, mask ? " with atten_mask" : " without atten_mask"),
                      Concat("0 without atten_mask, 3 with it", scene.head_dim != 512 ? ", 4 with it" : "",
                             " for input_layout ", scene.layout->name),
                      (mode == 3 || band) && !mask ? CompressedMaskHelp()
                                                   : Concat("Packed sequences take no mask of their own: 3 is causal",
                                                            scene.head_dim != 512 ? ", 4 a band." : "."));
    }
    return mask ? CheckCompressedMask(MaskOf(scene), "FIA-C43") : OkStatus();
}

Status CheckPackedExcludes(const Scene& scene) {
    const Request& request = scene.request;
    const auto refuse = [&](const char* argument, const std::string& given) {
        return Refuse("FIA-C138", argument, given, Concat("not with input_layout ", scene.layout->name));
    };
    if (request.pse_shift) {
        return refuse("pse_shift", TensorText(request.pse_shift));
    }
    if (scene.antiquant()) {
        return refuse("dequant_scale_key", TensorText(request.dequant_scale_key));
    }
    if (request.quant_scale_out) {
        return refuse("quant_scale_out", TensorText(request.quant_scale_out));
    }
    if (scene.empty_query() || scene.empty_keys()) {
        return refuse(scene.empty_query() ? "query" : "key", "an empty tensor");
    }
    return OkStatus();
}

// FIA-C141 (lengths of keys) is looked at with the cache, in FIA 6.
Status CheckPackedWide(const Scene& scene) {
    const Request& request = scene.request;
    const int64_t n = scene.query_heads;
    const bool heads = n >= 1 && n <= 128 && (n & (n - 1)) == 0;
    const bool lse = request.return_softmax_lse && !scene.extended();
    const bool paging = scene.paged() || scene.extended();
    if (request.input_layout == "NTD_TND" || !paging || !scene.rope() || !heads || scene.key_heads != 1 || lse) {
        return Refuse("FIA-C139", "input_layout",
                      Concat("'", request.input_layout, "', query_rope ", TensorText(request.query_rope),
                             ", block_table ", TensorText(request.block_table), ", ", HeadsText(scene),
                             ", return_softmax_lse ", request.return_softmax_lse ? "True" : "False"),
                      "with head_dim 512: TND or TND_NTD, rope, block_table, 1, 2, 4, ... 128 query heads over 1, "
                      "no softmax_lse");
    }
    const SequenceLengths queries = QueryLengths(scene);
    for (size_t b = 0; b < queries.size(); ++b) {
        if (queries[b] > 16) {  // 0 is how captured graphs pad
            return Refuse("FIA-C140", "actual_seq_qlen", Concat("sequence ", b, " of length ", queries[b]),
                          "at most 16 with head_dim 512");
        }
    }
    return OkStatus();
}

Status CheckPackedDims(const Scene& scene) {
    const int64_t d = scene.head_dim;
    const int64_t v = scene.value_head_dim;
    const bool no_value = v == 0 && d != 0;
    const bool any = scene.extended() && d % 16 == 0 && d <= 256 && v % 16 == 0 && v <= 256 && !no_value;
    const auto given = [&] { return Concat("head_dim ", d, ", value ", v); };
    if (scene.rope() && !(d == 128 && v == 128)) {
        return Refuse("FIA-C146", "query", given(), "128, value 128 with query_rope");
    }
    const bool ntd = scene.layout->input == AxisOrder::kNTD;
    if (!scene.rope() && ntd && !((d == 128 || d == 192) && v == 128) && !any) {
        return Refuse("FIA-C145", "query", given(), "128 or 192, value 128 with NTD_TND");
    }
    if (!scene.rope() && !ntd && !((d == 128 && v == 128) || (d == 192 && (v == 128 || v == 192))) && !any) {
        return Refuse("FIA-C144", "query", given(), "128 with value 128, or 192 with value 128 or 192, with TND");
    }
    if (v == 192 && (scene.query_heads != scene.key_heads || scene.paged()) && !scene.extended()) {
        return Refuse("FIA-C147", "value",
                      Concat("head_dim 192, ", scene.query_heads, " query heads over ", scene.key_heads,
                             ", block_table ", TensorText(scene.request.block_table)),
                      "no grouped heads and no block_table with value head_dim 192");
    }
    return OkStatus();
}

Status CheckPackedTokens(const Scene& scene) {
    const Request& request = scene.request;
    const int64_t pre = request.pre_tokens;
    const int64_t next = request.next_tokens;
    const int64_t v = scene.value_head_dim;
    const SequenceLengths queries = QueryLengths(scene);
    const SequenceLengths keys = KeyLengths(scene);
    for (size_t b = 0; b < queries.size(); ++b) {
        const auto sequence = [&] { return Concat("sequence ", b, ": ", queries[b], " queries, ", keys[b], " keys"); };
        if (request.sparse_mode == 3 && queries[b] > keys[b]) {
            return Refuse("FIA-C148", "actual_seq_kvlen", sequence(),
                          "at least as many keys as queries, sparse_mode 3");
        }
        if (request.sparse_mode == 4 && (pre < -queries[b] || next < -keys[b])) {
            return Refuse("FIA-C149", "pre_tokens", Concat(pre, ", next_tokens ", next, "; ", sequence()),
                          "pre_tokens >= -queries and next_tokens >= -keys of every sequence");
        }
    }
    int64_t width = 0;
    if (request.sparse_mode == 4 && !__builtin_add_overflow(pre, next, &width) && width < 0) {
        return Refuse("FIA-C149", "pre_tokens", Concat(pre, ", next_tokens ", next), "pre_tokens + next_tokens >= 0");
    }
    if (request.sparse_mode == 4 && v != 64 && v != 128 && !scene.extended()) {
        return Refuse("FIA-C150", "value", Concat("head_dim ", v), "64, 128 with sparse_mode 4");
    }
    return OkStatus();
}

Status CheckPackedNarrow(const Scene& scene) {
    const Request& request = scene.request;
    if (request.input_layout == "TND_NTD") {
        return Refuse("FIA-C142", "input_layout", "'TND_NTD'", "TND, NTD_TND unless head_dim is 512");
    }
    if (request.query->dtype != DType::kBFloat16 && !scene.extended()) {
        return Refuse("FIA-C143", "query", DTypeText(*request.query),
                      Concat("bfloat16 with input_layout ", scene.layout->name));
    }
    if (Status status = CheckPackedDims(scene); !status.ok()) {
        return status;
    }
    if (scene.paged()) {
        const int64_t size = request.block_size;
        const bool documented = size == 128 || size == 512 || size == 1024;
        if (!documented && !(scene.extended() && size % 16 == 0 && size <= 1024)) {
            return Refuse("FIA-C151", "block_size", std::to_string(size), "128, 512, 1024");
        }
    }
    return CheckPackedTokens(scene);
}

}  // namespace

Status CheckTokenPacked(Scene& scene) {
    if (!scene.packed()) {
        return OkStatus();
    }
    for (const auto check : {CheckPackedLengths, CheckPackedMask, CheckPackedExcludes}) {
        if (Status status = check(scene); !status.ok()) {
            return status;
        }
    }
    return scene.head_dim == 512 ? CheckPackedWide(scene) : CheckPackedNarrow(scene);
}

}  // namespace ascend_attention::fia_v2
