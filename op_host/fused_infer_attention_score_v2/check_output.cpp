// SPDX-License-Identifier: Apache-2.0
// FIA 5 (pse_shift), FIA 7 (quantised output) and FIA 14 (learnable_sink).
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckScaleOut(const Scene& scene) {
    const TensorView& scale = *scene.request.quant_scale_out;
    const OutputQuantArguments arguments = OutputQuantOf(scene);
    if (Status status = CheckScaleDType(arguments, "FIA-C72"); !status.ok()) {
        return status;
    }
    if (Status status = CheckScaleCount(arguments, "FIA-C73"); !status.ok()) {
        return status;
    }
    if (scene.single_row() && NumElements(scale.shape) != 1) {
        const int64_t n = scene.query_heads;
        const int64_t d = scene.value_head_dim;
        const int64_t channels = n * d;
        const Shape forms[] = {{1, n, 1, d},     {1, 1, n, d},  {n, 1, d}, {1, n, d},
                               {1, 1, channels}, {1, channels}, {n, d},    {channels}};
        if (std::find(std::begin(forms), std::end(forms), scale.shape) == std::end(forms)) {
            return Refuse("FIA-C74", "quant_scale_out", Concat("shape ", ShapeText(scale.shape)),
                          "(1, N, 1, D), (1, 1, N, D), (N, 1, D), (1, N, D), (1, 1, H), (1, H), (N, D) or (H,)");
        }
    }
    return OkStatus();
}

Status CheckPerChannel(const Scene& scene) {
    const Request& request = scene.request;
    if (NumElements(request.quant_scale_out->shape) == 1) {
        return OkStatus();
    }
    if (request.return_softmax_lse) {
        return Refuse("FIA-C75", "return_softmax_lse", "True", "False with a quant_scale_out per channel");
    }
    return CheckScalePerChannel(OutputQuantOf(scene), "FIA-C75");
}

}  // namespace

Status CheckPseShift(Scene& scene) {
    const OptionalTensor& pse = scene.request.pse_shift;
    if (!pse || scene.packed() || scene.rope()) {
        return OkStatus();  // FIA 11 and 12 refuse it there
    }
    const Shape& shape = pse->shape;
    const DType query = scene.request.query->dtype;
    const PseArguments arguments = {
        kFusedInferAttentionScoreV2, *pse, query, scene.batch, scene.query_heads, scene.query_length, scene.key_length};
    if (Status status = CheckPseShape(arguments, scene.paged() ? "FIA-C56" : "FIA-C52"); !status.ok()) {
        return status;
    }
    if (!scene.single_row()) {
        return CheckPseDType(arguments, "FIA-C54");
    }
    if (shape[2] != 1) {
        return Refuse("FIA-C53", "pse_shift", Concat("shape ", ShapeText(shape)), "third dimension 1 when Q_S is 1");
    }
    if (pse->dtype != query) {
        return Refuse("FIA-C55", "pse_shift", DTypeText(*pse), Concat("the dtype of query (", NameOf(query), ")"));
    }
    if (scene.head_dim % 16 != 0) {
        return Refuse("FIA-C55", "pse_shift", Concat("head_dim ", scene.head_dim),
                      "head_dim a multiple of 16 with pse_shift");
    }
    return OkStatus();
}

Status CheckOutputQuant(Scene& scene) {
    const Request& request = scene.request;
    const OptionalTensor& scale = request.quant_scale_out;
    const OptionalTensor& offset = request.quant_offset_out;
    const OutputQuantArguments arguments = OutputQuantOf(scene);
    if (Status status = CheckOffsetHasScale(arguments, "FIA-C70"); !status.ok()) {
        return status;
    }
    if (!scale || scene.packed() || scene.rope()) {
        return OkStatus();  // FIA 11 and 12 refuse it there
    }
    if (Status status = CheckOffsetLikeScale(arguments, "FIA-C71"); !status.ok()) {
        return status;
    }
    if (Status status = CheckScaleOut(scene); !status.ok()) {
        return status;
    }
    if (scene.single_row() || scene.empty_query()) {
        return OkStatus();
    }
    if (Status status = CheckPerChannel(scene); !status.ok()) {
        return status;
    }
    if (request.sparse_mode == 4 && (request.pre_tokens < 0 || request.next_tokens < 0)) {
        return Refuse("FIA-C76", "pre_tokens",
                      Concat("pre_tokens ", request.pre_tokens, ", next_tokens ", request.next_tokens),
                      "neither negative with sparse_mode 4 and quant_scale_out");
    }
    if (!offset || NumElements(offset->shape) == 0) {
        return OkStatus();
    }
    return CheckEmptyRows(MaskOf(scene), "FIA-C77", "quant_offset_out", QueryLengths(scene), KeyLengths(scene));
}

Status CheckSink(Scene& scene) {
    const OptionalTensor& sink = scene.request.learnable_sink;
    if (!sink) {
        return OkStatus();
    }
    const std::string layout = scene.layout->name;
    if (layout != "TND" && layout != "NTD_TND" && !scene.extended()) {
        return Refuse("FIA-C161", "learnable_sink", Concat("input_layout '", layout, "'"),
                      "none, or input_layout TND, NTD_TND");
    }
    if (scene.value_head_dim > 128 && !scene.extended()) {
        return Refuse("FIA-C161", "learnable_sink", Concat("value head_dim ", scene.value_head_dim),
                      "value head_dim at most 128");
    }
    if (sink->dtype != DType::kBFloat16 || sink->shape != Shape{scene.query_heads}) {
        return Refuse("FIA-C161", "learnable_sink", TensorText(sink), Concat("bfloat16 (", scene.query_heads, ",)"));
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
