// SPDX-License-Identifier: Apache-2.0
#include "prompt_flash_attention/scene.h"

namespace ascend_attention::pfa {

Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help) {
    return Refusal(kPromptFlashAttention, rule, argument, given, allowed, help);
}

MaskArguments MaskOf(const Scene& scene) {
    const Request& request = scene.request;
    return {kPromptFlashAttention, request.atten_mask, request.sparse_mode, request.pre_tokens, request.next_tokens,
            scene.batch,           scene.query_length, scene.key_length,    scene.packed()};
}

OutputQuantArguments OutputQuantOf(const Scene& scene) {
    const Request& request = scene.request;
    return {kPromptFlashAttention, "quant_scale2",    "quant_offset2",      request.quant_scale2, request.quant_offset2,
            request.query->dtype,  scene.query_heads, scene.value_head_dim, "num_heads",          scene.extended()};
}

SequenceLengths QueryLengths(const Scene& scene) {
    const OptionalLengths& lengths = scene.request.actual_seq_lengths;
    return scene.packed() ? Differences(*lengths) : LengthsPerBatch(lengths, scene.batch, scene.query_length);
}

SequenceLengths KeyLengths(const Scene& scene) {
    const OptionalLengths& lengths = scene.request.actual_seq_lengths_kv;
    return scene.packed() ? Differences(*lengths) : LengthsPerBatch(lengths, scene.batch, scene.key_length);
}

}  // namespace ascend_attention::pfa
