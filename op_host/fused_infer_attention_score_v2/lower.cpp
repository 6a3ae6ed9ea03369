// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/lower.h"

namespace ascend_attention::fia_v2 {

BandArguments BandArgumentsOf(const Request& request) {
    return {request.atten_mask.has_value(), request.sparse_mode, request.pre_tokens, request.next_tokens};
}

AttentionProblem Lower(const Scene& scene) {
    const Request& request = scene.request;
    DenseCall call;
    call.op = kFusedInferAttentionScoreV2;
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
    call.writes_lse = request.return_softmax_lse;
    call.scale = request.softmax_scale;
    return LowerDense(call);
}

}  // namespace ascend_attention::fia_v2
