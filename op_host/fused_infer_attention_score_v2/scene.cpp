// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/scene.h"

#include "common/head_counts.h"
#include "fused_infer_attention_score_v2/arguments.h"

namespace ascend_attention::fia_v2 {
namespace {

// Null without lists. Their first tensors stand for them until their shapes have been checked.
std::unique_ptr<Request> PaddedRequest(const Request& request) {
    if (!request.key_list && !request.value_list && !request.key_rope_list) {
        return nullptr;
    }
    auto padded = std::make_unique<Request>(request);
    VisitTensorLists(*padded, [](const char*, const OptionalTensorList& list, OptionalTensor& tensor) {
        if (list.has_value()) {
            tensor = list->empty() ? TensorView() : list->front();
        }
    });
    return padded;
}

}  // namespace

Scene::Scene(const Request& the_request, Contract the_contract)
    : padded_(PaddedRequest(the_request)), request(padded_ ? *padded_ : the_request), contract(the_contract) {}

void Scene::SetPaddedShape(const Shape& shape) {
    padded_->key->shape = shape;
    padded_->value->shape = shape;
}

Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help) {
    return Refusal(kFusedInferAttentionScoreV2, rule, argument, given, allowed, help);
}

MaskArguments MaskOf(const Scene& scene) {
    const Request& request = scene.request;
    return {kFusedInferAttentionScoreV2, request.atten_mask,  request.sparse_mode,
            request.pre_tokens,          request.next_tokens, scene.batch,
            scene.query_length,          scene.key_length,    scene.packed()};
}

OutputQuantArguments OutputQuantOf(const Scene& scene) {
    const Request& request = scene.request;
    return {kFusedInferAttentionScoreV2, "quant_scale_out",    "quant_offset_out", request.quant_scale_out,
            request.quant_offset_out,    request.query->dtype, scene.query_heads,  scene.value_head_dim,
            "num_query_heads",           scene.extended()};
}

std::string KeyHeadsText(const Scene& scene) {
    return ascend_attention::KeyHeadsText(scene.request.num_key_value_heads, "num_query_heads",
                                          scene.request.num_query_heads);
}

std::string FittingKeyHeads(const Scene& scene, int64_t width) {
    return ascend_attention::FittingKeyHeads("num_query_heads", scene.query_heads, scene.request.num_key_value_heads,
                                             scene.head_dim, width);
}

std::string HeadsText(const Scene& scene) {
    return Concat(scene.request.num_query_heads, " query heads, num_key_value_heads ", KeyHeadsText(scene));
}

SequenceLengths QueryLengths(const Scene& scene) {
    const OptionalLengths& given = scene.request.actual_seq_qlen;
    if (scene.packed()) {
        return Differences(*given);
    }
    const OptionalLengths none;
    return LengthsPerBatch(scene.single_row() ? none : given, scene.batch, scene.query_length);
}

SequenceLengths KeyLengths(const Scene& scene) {
    const OptionalLengths& given = scene.request.actual_seq_kvlen;
    if (scene.packed()) {
        // With paged keys they are plain, not cumulative.
        return scene.paged() ? SequenceLengths(LengthsView(*given)) : Differences(*given);
    }
    return scene.lists() && !HasLengths(given) ? SequenceLengths(LengthsView(scene.list_lengths))
                                               : LengthsPerBatch(given, scene.batch, scene.key_length);
}

}  // namespace ascend_attention::fia_v2
