// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/scene.h"

#include <algorithm>

namespace ascend_attention::fia_v2 {

Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help) {
    Status status;
    status.code = StatusCode::kInvalidParameter;
    status.op = kFusedInferAttentionScoreV2;
    status.argument = argument;
    status.rule = rule;
    status.given = given;
    status.allowed = allowed;
    status.help = help;
    return status;
}

std::string TensorText(const OptionalTensor& tensor) {
    return tensor ? Concat(DTypeText(*tensor), " ", ShapeText(tensor->shape)) : "None";
}

std::string KeyHeadsText(const Scene& scene) {
    const int64_t given = scene.request.num_key_value_heads;
    return given != 0 ? std::to_string(given)
                      : Concat("none or 0 (= num_query_heads ", scene.request.num_query_heads, ")");
}

std::string FittingKeyHeads(const Scene& scene, int64_t width) {
    const int64_t dim = scene.head_dim;
    const int64_t heads = dim > 0 && width % dim == 0 ? width / dim : 0;
    if (heads < 1 || heads == scene.key_heads || scene.query_heads % heads != 0) {
        return "";
    }
    return Concat("num_key_value_heads is ", KeyHeadsText(scene), "; ", heads, " would fit this shape.");
}

std::string HeadsText(const Scene& scene) {
    return Concat(scene.request.num_query_heads, " query heads, num_key_value_heads ", KeyHeadsText(scene));
}

std::vector<int64_t> LengthsPerBatch(const OptionalLengths& lengths, int64_t batch, int64_t whole) {
    if (!HasLengths(lengths)) {
        return std::vector<int64_t>(size_t(batch), whole);
    }
    if (lengths->size() == 1) {
        return std::vector<int64_t>(size_t(batch), lengths->front());
    }
    return std::vector<int64_t>(lengths->begin(), lengths->begin() + batch);
}

std::vector<int64_t> QueryLengths(const Scene& scene) {
    const OptionalLengths none;
    return LengthsPerBatch(scene.single_row() ? none : scene.request.actual_seq_qlen, scene.batch, scene.query_length);
}

std::vector<int64_t> KeyLengths(const Scene& scene) {
    return LengthsPerBatch(scene.request.actual_seq_kvlen, scene.batch, scene.key_length);
}

bool IsCompressedMask(const Shape& shape) {
    constexpr int64_t kSide = 2048;
    const size_t rank = shape.size();
    if (rank < 2 || rank > 4 || shape[rank - 1] != kSide || shape[rank - 2] != kSide) {
        return false;
    }
    return std::all_of(shape.begin(), shape.end() - 2, [](int64_t dim) { return dim == 1; });
}

Status CheckCompressedMask(const Scene& scene, const char* rule) {
    const OptionalTensor& mask = scene.request.atten_mask;
    if (!mask || !IsCompressedMask(mask->shape)) {
        return Refuse(
            rule, "atten_mask", mask ? Concat("shape ", ShapeText(mask->shape)) : "None",
            Concat("(2048, 2048), (1, 2048, 2048) or (1, 1, 2048, 2048) with sparse_mode ", scene.request.sparse_mode),
            mask && !scene.packed() ? "A mask of (Q_S, KV_S) goes with sparse_mode 0 or 1. This one is always "
                                      "numpy.triu(numpy.ones((2048, 2048), dtype=bool), 1), whatever the lengths: "
                                      "non-zero hides, and the content is not read."
                                    : "Always numpy.triu(numpy.ones((2048, 2048), dtype=bool), 1), whatever the "
                                      "lengths: non-zero hides, and the content is not read.");
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
