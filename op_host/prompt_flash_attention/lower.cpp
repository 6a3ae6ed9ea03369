// SPDX-License-Identifier: Apache-2.0
#include "prompt_flash_attention/lower.h"

namespace ascend_attention::pfa {

BandArguments BandArgumentsOf(const Request& request) {
    return {request.atten_mask.has_value(), request.sparse_mode, request.pre_tokens, request.next_tokens};
}

AttentionOutputs InferShapes(const Scene& scene) {
    AttentionOutputs outputs;
    OutputSpec& out = outputs.attention_out;
    out.dtype = scene.request.quant_scale2 ? DType::kInt8
                : scene.int8_query()       ? DType::kFloat16
                                           : scene.request.query->dtype;
    out.shape =
        ShapeOf(scene.layout->output, {scene.batch, scene.query_heads, scene.query_length, scene.value_head_dim});
    outputs.softmax_lse.dtype = DType::kFloat32;
    outputs.softmax_lse.shape = {0};
    return outputs;
}

AttentionProblem Lower(const Scene& scene) {
    const Request& request = scene.request;
    CallTerms terms;
    terms.op = kPromptFlashAttention;
    terms.dtype = request.query->dtype;
    terms.query_lengths = QueryLengths(scene);
    terms.key_lengths = KeyLengths(scene);
    terms.band = BandArgumentsOf(request);
    terms.mask = MaskPlanesOf(request.atten_mask, request.sparse_mode, scene.batch);
    terms.bias = BiasPlanesOf(request.pse_shift);
    terms.scale = request.scale_value;
    return LowerCall(scene, terms, DenseKeys(scene));
}

}  // namespace ascend_attention::pfa
