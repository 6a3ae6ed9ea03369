// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/infer.h"

namespace ascend_attention::fia_v2 {
namespace {

DType OutputDType(const Scene& scene) {
    const Request& request = scene.request;
    if (request.quant_scale_out) {
        return DType::kInt8;
    }
    if (scene.int8_query()) {
        return request.query_rope ? request.query_rope->dtype : DType::kFloat16;
    }
    return request.query->dtype;
}

}  // namespace

AttentionOutputs InferShapes(const Scene& scene) {
    AttentionOutputs outputs;
    outputs.attention_out.dtype = OutputDType(scene);
    const int64_t length = scene.packed() ? scene.tokens : scene.query_length;
    outputs.attention_out.shape =
        ShapeOf(scene.layout->output, {scene.batch, scene.query_heads, length, scene.value_head_dim});
    outputs.softmax_lse.dtype = DType::kFloat32;
    if (!scene.request.return_softmax_lse) {
        outputs.softmax_lse.shape = {1};  // FIA-C163: one zero
        outputs.softmax_lse.fill = 0.0f;
    } else if (scene.packed()) {
        outputs.softmax_lse.shape = {scene.tokens, scene.query_heads, 1};
    } else {
        outputs.softmax_lse.shape = {scene.batch, scene.query_heads, scene.query_length, 1};
    }
    return outputs;
}

}  // namespace ascend_attention::fia_v2
