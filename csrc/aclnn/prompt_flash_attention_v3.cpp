// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_prompt_flash_attention_v3.h"

#include <utility>

#include "aclnn/phases.h"
#include "common/own_rules.h"
#include "common/text.h"

using namespace ascend_attention;
using namespace ascend_attention::aclnn;

aclnnStatus aclnnPromptFlashAttentionV3GetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* pseShift,
    const aclTensor* attenMask, const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
    const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2, const aclTensor* quantScale2,
    const aclTensor* quantOffset2, int64_t numHeads, double scaleValue, int64_t preTokens, int64_t nextTokens,
    char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t innerPrecise,
    const aclTensor* attentionOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
    return Guarded([&] {
        Reader reader(kPromptFlashAttention);
        PromptFlashAttentionRequest request;
        request.query = reader.Tensor("query", query);
        request.key = reader.Tensor("key", key);
        request.value = reader.Tensor("value", value);
        request.pse_shift = reader.Tensor("pse_shift", pseShift);
        request.atten_mask = reader.Tensor("atten_mask", attenMask);
        request.actual_seq_lengths = reader.Lengths("actual_seq_lengths", actualSeqLengths);
        request.actual_seq_lengths_kv = reader.Lengths("actual_seq_lengths_kv", actualSeqLengthsKv);
        request.deq_scale1 = reader.Tensor("deq_scale1", deqScale1);
        request.quant_scale1 = reader.Tensor("quant_scale1", quantScale1);
        request.deq_scale2 = reader.Tensor("deq_scale2", deqScale2);
        request.quant_scale2 = reader.Tensor("quant_scale2", quantScale2);
        request.quant_offset2 = reader.Tensor("quant_offset2", quantOffset2);
        request.num_heads = numHeads;
        request.scale_value = scaleValue;
        request.pre_tokens = preTokens;
        request.next_tokens = nextTokens;
        request.input_layout = inputLayout != nullptr ? inputLayout : "BSH";
        request.num_key_value_heads = numKeyValueHeads;
        request.sparse_mode = sparseMode;
        // The torch interface has no such argument: there it is 0. The others compute the same (docs/numerics.md).
        if (innerPrecise < 0 || innerPrecise > 3) {
            Refuse(ACLNN_ERR_PARAM_INVALID, "PFA-A5", kPromptFlashAttention, "inner_precise", Concat(innerPrecise),
                   "0, 1, 2, 3");
        }
        FirstPhase(&reader, std::move(request),
                   {{"input_layout", inputLayout, "PFA-C3", "BSH, BSND, BNSD, BNSD_BSND, TND", IsMissingTensor},
                    {"attention_out", attentionOut, "PFA-A3", "a tensor", IsMissingTensor},
                    {"workspaceSize", workspaceSize, own_rule::kHandle, "a place for the answer", IsMissingTensor},
                    {"executor", executor, own_rule::kHandle, "a place for the answer", IsMissingTensor}},
                   {attentionOut, nullptr, false, false, workspaceSize, executor});
    });
}

aclnnStatus aclnnPromptFlashAttentionV3(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        const aclrtStream stream) {
    return SecondPhase(kPromptFlashAttention, workspace, workspaceSize, executor, stream);
}
