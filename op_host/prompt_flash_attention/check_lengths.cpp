// SPDX-License-Identifier: Apache-2.0
// PFA 3: actual_seq_lengths and actual_seq_lengths_kv, and the limits of TND.
#include "prompt_flash_attention/check.h"

namespace ascend_attention::pfa {
namespace {

Status CheckPackedLists(const Scene& scene) {
    constexpr int64_t kSequencesMax = 4096;
    const Request& request = scene.request;
    if (!HasLengths(request.actual_seq_lengths) || !HasLengths(request.actual_seq_lengths_kv)) {
        const bool query = HasLengths(request.actual_seq_lengths);
        return Refuse("PFA-C22", query ? "actual_seq_lengths_kv" : "actual_seq_lengths",
                      NoLengths(query ? request.actual_seq_lengths_kv : request.actual_seq_lengths),
                      "where each sequence ends, with input_layout TND",
                      Concat("The lengths are cumulative: [", query ? scene.key_length : scene.query_length,
                             "] for a single sequence."));
    }
    const int64_t queries = int64_t(request.actual_seq_lengths->size());
    const int64_t keys = int64_t(request.actual_seq_lengths_kv->size());
    if (queries != keys) {
        return Refuse("PFA-C23", "actual_seq_lengths_kv", Concat(keys, " entries"),
                      Concat("one per entry of actual_seq_lengths (", queries, ")"));
    }
    if (queries > kSequencesMax) {
        return Refuse("PFA-C24", "actual_seq_lengths", Concat(queries, " entries"),
                      Concat("at most ", kSequencesMax, " with input_layout TND"));
    }
    const CumulativeRules query_rules = {kPromptFlashAttention, "actual_seq_lengths", "PFA-C22", "PFA-C23"};
    if (Status status = CheckCumulative(query_rules, *request.actual_seq_lengths, scene.query_length); !status.ok()) {
        return status;
    }
    const CumulativeRules key_rules = {kPromptFlashAttention, "actual_seq_lengths_kv", "PFA-C22", "PFA-C23"};
    return CheckCumulative(key_rules, *request.actual_seq_lengths_kv, scene.key_length);
}

Status CheckPackedLimits(const Scene& scene) {
    constexpr int64_t kTokensMax = 1048576;
    const int64_t d = scene.head_dim;
    const int64_t v = scene.value_head_dim;
    if (scene.query_length > kTokensMax || scene.key_length > kTokensMax) {
        const bool query = scene.query_length > kTokensMax;
        return Refuse("PFA-C24", query ? "query" : "key", Concat("T ", query ? scene.query_length : scene.key_length),
                      Concat("at most ", kTokensMax, " with input_layout TND"));
    }
    const DType dtype = scene.request.query->dtype;
    if (dtype != DType::kBFloat16 && !(scene.extended() && dtype == DType::kFloat16)) {
        return Refuse("PFA-C24", "query", DTypeText(*scene.request.query), "bfloat16 with input_layout TND");
    }
    const bool documented = (d == 128 && v == 128) || (d == 192 && (v == 128 || v == 192));
    const bool no_value = v == 0 && d != 0;
    const bool any = scene.extended() && d % 16 == 0 && d <= 256 && v % 16 == 0 && v <= 256 && !no_value;
    if (!documented && !any) {
        return Refuse("PFA-C24", "query", Concat("head_dim ", d, ", value ", v),
                      "128 with value 128, or 192 with value 128 or 192, with input_layout TND");
    }
    return OkStatus();
}

}  // namespace

Status CheckLengths(Scene& scene) {
    const Request& request = scene.request;
    if (scene.cards()) {
        const bool query = HasLengths(request.actual_seq_lengths);
        if (query || HasLengths(request.actual_seq_lengths_kv)) {
            return Refuse("PFA-C21", query ? "actual_seq_lengths" : "actual_seq_lengths_kv", "a list of lengths",
                          Concat("none on ", NameOf(scene.soc.product)));
        }
        return OkStatus();
    }
    if (scene.packed()) {
        Status status = CheckPackedLimits(scene);
        return status.ok() ? CheckPackedLists(scene) : status;
    }
    const LengthRules query_rules = {kPromptFlashAttention, "actual_seq_lengths", "PFA-C19", "PFA-C19", "Q_S"};
    Status status = CheckLengthList(query_rules, request.actual_seq_lengths, scene.batch, scene.query_length);
    if (!status.ok()) {
        return status;
    }
    const LengthRules key_rules = {kPromptFlashAttention, "actual_seq_lengths_kv", "PFA-C20", "PFA-C20", "KV_S"};
    return CheckLengthList(key_rules, request.actual_seq_lengths_kv, scene.batch, scene.key_length);
}

}  // namespace ascend_attention::pfa
