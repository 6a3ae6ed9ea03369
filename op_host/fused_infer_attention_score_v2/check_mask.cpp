// SPDX-License-Identifier: Apache-2.0
// FIA 4: atten_mask, sparse_mode, pre_tokens and next_tokens.
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckSparseMode(const Scene& scene) {
    const int64_t mode = scene.request.sparse_mode;
    // Without rope, one query row ignores sparse_mode altogether.
    if (scene.single_row() && !scene.rope()) {
        return OkStatus();
    }
    if (mode == 9 && scene.extended()) {
        return OkStatus();  // tree mask of newer documents: refused later as not built yet
    }
    if (mode < 0 || mode > 4) {
        return Refuse("FIA-C42", "sparse_mode", std::to_string(mode), "0, 1, 2, 3, 4");
    }
    return OkStatus();
}

// (Q_S, KV_S), (1 or B, Q_S, KV_S) or (1 or B, 1, Q_S, KV_S); the last two may be larger.
Status CheckFullMask(const Scene& scene) {
    const Shape& shape = scene.request.atten_mask->shape;
    const size_t rank = shape.size();
    bool fits = rank >= 2 && rank <= 4 && shape[rank - 2] >= scene.query_length && shape[rank - 1] >= scene.key_length;
    if (fits && rank >= 3) {
        fits = shape[0] == 1 || shape[0] == scene.batch;
    }
    if (fits && rank == 4) {
        fits = shape[1] == 1;
    }
    if (!fits) {
        const std::string pair = Concat(scene.query_length, ", ", scene.key_length, ")");
        const std::string batch = scene.batch == 1 ? "(1, " : Concat("(1 or ", scene.batch, ", ");
        return Refuse(
            scene.paged() ? "FIA-C56" : "FIA-C45", "atten_mask", Concat("shape ", ShapeText(shape)),
            Concat("(", pair, ", ", batch, pair, " or ", batch, "1, ", pair, "; the last two dimensions may be larger"),
            IsCompressedMask(shape) ? "The (2048, 2048) mask that stands for any lengths goes with "
                                      "sparse_mode 2, 3 or 4."
                                    : "Non-zero hides the pair.");
    }
    return OkStatus();
}

Status CheckSingleRowMask(const Scene& scene) {
    const Shape& shape = scene.request.atten_mask->shape;
    if (shape.empty() || shape.front() != scene.batch || shape.back() < scene.key_length) {
        return Refuse("FIA-C46", "atten_mask", Concat("shape ", ShapeText(shape)),
                      Concat("batch ", scene.batch, " first and at least KV_S (", scene.key_length, ") last"));
    }
    return OkStatus();
}

// A negative reach must leave something to see: `reach` < 0 needs -reach below every length. Negating INT64_MIN would
// overflow, so both sides are compared negated.
Status CheckReach(const char* rule, const char* argument, int64_t reach, const char* what,
                  const std::vector<int64_t>& lengths) {
    if (reach >= 0) {
        return OkStatus();
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
        if (reach <= -lengths[i]) {
            return Refuse(rule, argument, std::to_string(reach),
                          Concat("above -", lengths[i], ", the ", what, " length of batch ", i));
        }
    }
    return OkStatus();
}

Status CheckTokens(const Scene& scene) {
    const Request& request = scene.request;
    const int64_t pre = request.pre_tokens;
    const int64_t next = request.next_tokens;
    const std::string both = Concat("pre_tokens ", pre, ", next_tokens ", next);
    if (pre < 0 && next < 0) {
        return Refuse("FIA-C47", "pre_tokens", both, "not both negative");
    }
    int64_t width = 0;
    if (!__builtin_add_overflow(pre, next, &width) && width < 0) {
        return Refuse("FIA-C48", "pre_tokens", both, "pre_tokens + next_tokens >= 0");
    }
    if (pre >= 0 && next >= 0) {
        return OkStatus();
    }
    const std::vector<int64_t> query_lengths = QueryLengths(scene);
    const std::vector<int64_t> key_lengths = KeyLengths(scene);
    if (request.sparse_mode == 0) {  // counted from the left-top corner
        if (Status status = CheckReach("FIA-C49", "next_tokens", next, "query", query_lengths); !status.ok()) {
            return status;
        }
        return CheckReach("FIA-C49", "pre_tokens", pre, "key", key_lengths);
    }
    if (Status status = CheckReach("FIA-C50", "next_tokens", next, "key", key_lengths); !status.ok()) {
        return status;
    }
    return CheckReach("FIA-C50", "pre_tokens", pre, "query", query_lengths);
}

}  // namespace

Status CheckMask(Scene& scene) {
    const Request& request = scene.request;
    const OptionalTensor& mask = request.atten_mask;
    if (mask && mask->dtype != DType::kBool && mask->dtype != DType::kInt8 && mask->dtype != DType::kUInt8) {
        return Refuse("FIA-C41", "atten_mask", DTypeText(*mask), "bool, int8, uint8",
                      "Non-zero hides the pair. From additive values: atten_mask = values < 0; from True where a key "
                      "is seen: atten_mask = ~mask.");
    }
    if (Status status = CheckSparseMode(scene); !status.ok()) {
        return status;
    }
    if (scene.packed() || scene.wide_rope()) {
        return OkStatus();  // FIA 11 and 12 have their own mask rules
    }
    if (scene.empty_query() && !mask) {
        return OkStatus();
    }
    if (scene.single_row()) {
        return mask ? CheckSingleRowMask(scene) : OkStatus();
    }
    if (request.sparse_mode >= 2 && request.sparse_mode <= 4) {
        if (Status status = CheckCompressedMask(scene, "FIA-C43"); !status.ok()) {
            return status;
        }
    }
    if (request.sparse_mode == 1 && !mask) {
        return Refuse(
            "FIA-C44", "atten_mask", "None",
            Concat("a mask of at least (", scene.query_length, ", ", scene.key_length, ") with sparse_mode 1"));
    }
    if (request.sparse_mode <= 1 && mask) {
        if (Status status = CheckFullMask(scene); !status.ok()) {
            return status;
        }
    }
    if (scene.empty_query()) {
        return OkStatus();  // there is no row that pre_tokens and next_tokens could hide
    }
    const bool uses_tokens = (request.sparse_mode == 0 && mask) || request.sparse_mode == 4;
    return uses_tokens ? CheckTokens(scene) : OkStatus();
}

}  // namespace ascend_attention::fia_v2
