// SPDX-License-Identifier: Apache-2.0
// FIA 5 (pse_shift), FIA 7 (quantised output) and FIA 14 (learnable_sink).
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckScaleOut(const Scene& scene) {
    const TensorView& scale = *scene.request.quant_scale_out;
    const bool bfloat16 = scene.request.query->dtype == DType::kBFloat16 && scale.dtype == DType::kBFloat16;
    const bool float16 = scene.request.query->dtype == DType::kFloat16 && scale.dtype == DType::kFloat16;
    if (scale.dtype != DType::kFloat32 && !bfloat16 && !(float16 && scene.extended())) {
        return Refuse("FIA-C72", "quant_scale_out", DTypeText(scale), "float32, or bfloat16 with bfloat16 query");
    }
    const int64_t channels = scene.query_heads * scene.value_head_dim;
    const int64_t count = NumElements(scale.shape);
    if (count != 1 && count != channels) {
        return Refuse("FIA-C73", "quant_scale_out", Concat("shape ", ShapeText(scale.shape)),
                      Concat("1 or num_query_heads * head_dim (", channels, ") elements"));
    }
    if (scene.single_row() && count != 1) {
        const int64_t n = scene.query_heads;
        const int64_t d = scene.value_head_dim;
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
    if (scene.value_head_dim % 32 != 0) {
        return Refuse("FIA-C75", "quant_scale_out", Concat("head_dim ", scene.value_head_dim),
                      "head_dim a multiple of 32 with a quant_scale_out per channel");
    }
    return OkStatus();
}

// With an offset, a row without keys would not quantise to the offset of zero; the document refuses such calls.
Status CheckEmptyRows(const Scene& scene) {
    const Request& request = scene.request;
    const std::vector<int64_t> query_lengths = QueryLengths(scene);
    const std::vector<int64_t> key_lengths = KeyLengths(scene);
    constexpr int64_t kFar = int64_t(1) << 40;
    const int64_t pre = std::clamp(request.pre_tokens, -kFar, kFar);
    const int64_t next = std::clamp(request.next_tokens, -kFar, kFar);
    for (size_t b = 0; b < query_lengths.size(); ++b) {
        const int64_t excess = query_lengths[b] - key_lengths[b];
        const bool empty = (request.sparse_mode == 0 && request.atten_mask && (excess - pre > 0 || next < 0)) ||
                           (request.sparse_mode == 3 && excess > 0) ||
                           (request.sparse_mode == 4 && (pre < 0 || next < excess));
        if (empty) {
            return Refuse("FIA-C77", "quant_offset_out",
                          Concat("sparse_mode ", request.sparse_mode, ", pre_tokens ", request.pre_tokens,
                                 ", next_tokens ", request.next_tokens, ", batch ", b, " with ", query_lengths[b],
                                 " queries and ", key_lengths[b], " keys"),
                          "no query row without keys when quant_offset_out is given");
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckPseShift(Scene& scene) {
    const OptionalTensor& pse = scene.request.pse_shift;
    if (!pse || scene.packed()) {
        return OkStatus();
    }
    const Shape& shape = pse->shape;
    const bool four = shape.size() == 4;
    if (!four || (shape[0] != 1 && shape[0] != scene.batch) || shape[1] != scene.query_heads ||
        shape[2] < scene.query_length || shape[3] < scene.key_length) {
        return Refuse(scene.paged() ? "FIA-C56" : "FIA-C52", "pse_shift", Concat("shape ", ShapeText(shape)),
                      Concat("(1 or ", scene.batch, ", ", scene.query_heads, ", at least ", scene.query_length,
                             ", at least ", scene.key_length, ")"));
    }
    const DType query = scene.request.query->dtype;
    if (!scene.single_row()) {
        const bool fits = pse->dtype == query || (pse->dtype == DType::kFloat16 && query == DType::kInt8);
        return fits ? OkStatus()
                    : Refuse("FIA-C54", "pse_shift", DTypeText(*pse),
                             "float16 with float16 or int8 query, bfloat16 with bfloat16 query");
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
    if (offset && !scale) {
        return Refuse("FIA-C70", "quant_offset_out", TensorText(offset), "None without quant_scale_out");
    }
    if (!scale || scene.packed() || scene.rope()) {
        return OkStatus();  // FIA 11 and 12 refuse it there
    }
    if (offset && (offset->dtype != scale->dtype || offset->shape != scale->shape)) {
        return Refuse("FIA-C71", "quant_offset_out", TensorText(offset),
                      Concat("dtype and shape of quant_scale_out: ", TensorText(scale)));
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
    return offset && NumElements(offset->shape) > 0 ? CheckEmptyRows(scene) : OkStatus();
}

Status CheckSink(Scene& scene) {
    const OptionalTensor& sink = scene.request.learnable_sink;
    if (!sink) {
        return OkStatus();
    }
    const std::string layout = scene.layout->name;
    if (layout != "TND" && layout != "NTD_TND" && !scene.extended()) {
        return Refuse("FIA-C161", "learnable_sink", Concat("input_layout '", layout, "'"),
                      "None, or input_layout TND, NTD_TND");
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
