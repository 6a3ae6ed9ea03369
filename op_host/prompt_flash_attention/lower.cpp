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
    DenseCall call;
    call.op = kPromptFlashAttention;
    call.dtype = request.query->dtype;
    call.layout = scene.layout;
    call.batch = scene.batch;
    call.query_heads = scene.query_heads;
    call.key_heads = scene.key_heads;
    call.head_dim = scene.head_dim;
    call.value_head_dim = scene.value_head_dim;
    call.query_length = scene.query_length;
    call.key_length = scene.key_length;
    call.query_lengths = QueryLengths(scene);
    call.key_lengths = KeyLengths(scene);
    call.mask = request.atten_mask;
    call.tokens = BandArgumentsOf(request);
    call.scale = request.scale_value;
    return LowerDense(call);
}

}  // namespace ascend_attention::pfa
