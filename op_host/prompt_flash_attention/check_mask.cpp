// SPDX-License-Identifier: Apache-2.0
// PFA 4: atten_mask, sparse_mode, pre_tokens and next_tokens.
#include "prompt_flash_attention/check.h"

namespace ascend_attention::pfa {
namespace {

constexpr TokenRules kTokenRules = {"PFA-C32", "PFA-C32", "PFA-C32", "PFA-C32"};

// PFA-C33
Status CheckCardTokens(const Request& request) {
    constexpr int64_t kAll = 2147483647;
    if (request.pre_tokens != kAll) {
        return Refuse("PFA-C33", "pre_tokens", std::to_string(request.pre_tokens),
                      Concat(kAll, " on ", NameOf(Product::kInferenceCards)));
    }
    if (request.next_tokens != 0 && request.next_tokens != kAll) {
        return Refuse("PFA-C33", "next_tokens", std::to_string(request.next_tokens),
                      Concat("0, ", kAll, " on ", NameOf(Product::kInferenceCards)));
    }
    return OkStatus();
}

Status CheckPackedMask(const Scene& scene) {
    const int64_t mode = scene.request.sparse_mode;
    const bool mask = scene.request.atten_mask.has_value();
    if (!(mode == 0 && !mask) && !((mode == 3 || mode == 4) && mask)) {
        return Refuse("PFA-C24", "sparse_mode", Concat(mode, mask ? " with atten_mask" : " without atten_mask"),
                      "0 without atten_mask, 3 or 4 with it, for input_layout TND",
                      (mode == 3 || mode == 4) && !mask
                          ? CompressedMaskHelp()
                          : "Packed sequences take no mask of their own: 3 is causal, 4 a band.");
    }
    if (mode == 0) {
        return OkStatus();
    }
    const MaskArguments arguments = MaskOf(scene);
    if (Status status = CheckCompressedMask(arguments, "PFA-C29"); !status.ok()) {
        return status;
    }
    const SequenceLengths queries = QueryLengths(scene);
    const SequenceLengths keys = KeyLengths(scene);
    for (size_t b = 0; mode == 3 && b < queries.size(); ++b) {
        if (queries[b] > keys[b]) {
            return Refuse("PFA-C25", "actual_seq_lengths_kv",
                          Concat("sequence ", b, ": ", queries[b], " queries, ", keys[b], " keys"),
                          "at least as many keys as queries, sparse_mode 3");
        }
    }
    return mode == 4 ? CheckTokens(arguments, kTokenRules, queries, keys) : OkStatus();
}

}  // namespace

Status CheckMask(Scene& scene) {
    const Request& request = scene.request;
    const int64_t mode = request.sparse_mode;
    const bool mask = request.atten_mask.has_value();
    const MaskArguments arguments = MaskOf(scene);
    if (Status status = CheckMaskDType(arguments, "PFA-C28"); !status.ok()) {
        return status;
    }
    if (scene.cards() && mode != 0) {
        return Refuse("PFA-C27", "sparse_mode", std::to_string(mode), Concat("0 on ", NameOf(scene.soc.product)));
    }
    if (mode < 0 || mode > 4) {
        return Refuse("PFA-C26", "sparse_mode", std::to_string(mode), "0, 1, 2, 3, 4");
    }
    if (scene.cards()) {
        if (Status status = CheckCardTokens(request); !status.ok()) {
            return status;
        }
    }
    if (scene.packed()) {
        return CheckPackedMask(scene);
    }
    if (mode >= 2) {
        if (Status status = CheckCompressedMask(arguments, "PFA-C29"); !status.ok()) {
            return status;
        }
    }
    if (Status status = CheckAllMask(arguments, "PFA-C30"); !status.ok()) {
        return status;
    }
    if (mode <= 1 && mask) {
        if (Status status = CheckFullMask(arguments, "PFA-C31"); !status.ok()) {
            return status;
        }
    }
    const bool uses_tokens = !scene.empty_query() && ((mode == 0 && mask) || mode == 4);
    return uses_tokens ? CheckTokens(arguments, kTokenRules, QueryLengths(scene), KeyLengths(scene)) : OkStatus();
}

}  // namespace ascend_attention::pfa
