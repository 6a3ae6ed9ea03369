// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "aclnn/phases.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v3.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"
#include "common/own_rules.h"

namespace ascend_attention::aclnn {
namespace {

// A list of one tensor is that tensor.
void SetKeys(OptionalTensorList given, OptionalTensor* tensor, OptionalTensorList* list) {
    if (given.has_value() && given->size() == 1) {
        *tensor = std::move(given->front());
    } else {
        *list = std::move(given);
    }
}

}  // namespace
}  // namespace ascend_attention::aclnn

using namespace ascend_attention;
using namespace ascend_attention::aclnn;

aclnnStatus aclnnFusedInferAttentionScoreV4GetWorkspaceSize(
    const aclTensor* query, const aclTensorList* key, const aclTensorList* value, const aclTensor* pseShiftOptional,
    const aclTensor* attenMaskOptional, const aclIntArray* actualSeqLengthsOptional,
    const aclIntArray* actualSeqLengthsKvOptional, const aclTensor* deqScale1Optional,
    const aclTensor* quantScale1Optional, const aclTensor* deqScale2Optional, const aclTensor* quantScale2Optional,
    const aclTensor* quantOffset2Optional, const aclTensor* antiquantScaleOptional,
    const aclTensor* antiquantOffsetOptional, const aclTensor* blockTableOptional,
    const aclTensor* queryPaddingSizeOptional, const aclTensor* kvPaddingSizeOptional,
    const aclTensor* keyAntiquantScaleOptional, const aclTensor* keyAntiquantOffsetOptional,
    const aclTensor* valueAntiquantScaleOptional, const aclTensor* valueAntiquantOffsetOptional,
    const aclTensor* keySharedPrefixOptional, const aclTensor* valueSharedPrefixOptional,
    const aclIntArray* actualSharedPrefixLenOptional, const aclTensor* queryRopeOptional,
    const aclTensor* keyRopeOptional, const aclTensor* keyRopeAntiquantScaleOptional,
    const aclTensor* dequantScaleQueryOptional, const aclTensor* learnableSinkOptional, int64_t numHeads,
    double scaleValue, int64_t preTokens, int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads,
    int64_t sparseMode, int64_t innerPrecise, int64_t blockSize, int64_t, bool softmaxLseFlag, int64_t keyAntiquantMode,
    int64_t valueAntiquantMode, int64_t queryQuantMode, const aclTensor* attentionOut, const aclTensor* softmaxLse,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
    return Guarded([&] {
        Reader reader(kFusedInferAttentionScoreV2);
        FusedInferAttentionScoreV2Request request;
        request.query = reader.Tensor("query", query);
        SetKeys(reader.List("key", key), &request.key, &request.key_list);
        SetKeys(reader.List("value", value), &request.value, &request.value_list);
        request.pse_shift = reader.Tensor("pse_shift", pseShiftOptional);
        request.atten_mask = reader.Tensor("atten_mask", attenMaskOptional);
        request.actual_seq_qlen = reader.Lengths("actual_seq_qlen", actualSeqLengthsOptional);
        request.actual_seq_kvlen = reader.Lengths("actual_seq_kvlen", actualSeqLengthsKvOptional);
        request.quant_scale_out = reader.Tensor("quant_scale_out", quantScale2Optional);
        request.quant_offset_out = reader.Tensor("quant_offset_out", quantOffset2Optional);
        request.block_table = reader.Tensor("block_table", blockTableOptional);
        request.dequant_scale_key = reader.Tensor("dequant_scale_key", keyAntiquantScaleOptional);
        request.dequant_offset_key = reader.Tensor("dequant_offset_key", keyAntiquantOffsetOptional);
        request.dequant_scale_value = reader.Tensor("dequant_scale_value", valueAntiquantScaleOptional);
        request.dequant_offset_value = reader.Tensor("dequant_offset_value", valueAntiquantOffsetOptional);
        request.query_rope = reader.Tensor("query_rope", queryRopeOptional);
        request.key_rope = reader.Tensor("key_rope", keyRopeOptional);
        request.dequant_scale_key_rope = reader.Tensor("dequant_scale_key_rope", keyRopeAntiquantScaleOptional);
        request.dequant_scale_query = reader.Tensor("dequant_scale_query", dequantScaleQueryOptional);
        request.learnable_sink = reader.Tensor("learnable_sink", learnableSinkOptional);
        request.num_query_heads = numHeads;
        request.softmax_scale = scaleValue;
        request.pre_tokens = preTokens;
        request.next_tokens = nextTokens;
        request.input_layout = inputLayout != nullptr ? inputLayout : "BSH";
        request.num_key_value_heads = numKeyValueHeads;
        request.sparse_mode = sparseMode;
        request.inner_precise = innerPrecise;
        request.block_size = blockSize;
        request.return_softmax_lse = softmaxLseFlag;
        request.key_quant_mode = keyAntiquantMode;
        request.value_quant_mode = valueAntiquantMode;
        request.query_quant_mode = queryQuantMode;
        // What npu_fused_infer_attention_score_v2 has no argument for.
        const char* own_scales = "Give keyAntiquantScaleOptional and valueAntiquantScaleOptional instead.";
        reader.NotSupported("deqScale1Optional", deqScale1Optional);
        reader.NotSupported("quantScale1Optional", quantScale1Optional);
        reader.NotSupported("deqScale2Optional", deqScale2Optional);
        reader.NotSupported("antiquantScaleOptional", antiquantScaleOptional, own_scales);
        reader.NotSupported("antiquantOffsetOptional", antiquantOffsetOptional, own_scales);
        reader.NotSupported("queryPaddingSizeOptional", queryPaddingSizeOptional);
        reader.NotSupported("kvPaddingSizeOptional", kvPaddingSizeOptional);
        reader.NotSupported("keySharedPrefixOptional", keySharedPrefixOptional);
        reader.NotSupported("valueSharedPrefixOptional", valueSharedPrefixOptional);
        reader.NotSupported("actualSharedPrefixLenOptional", actualSharedPrefixLenOptional);
        FirstPhase(&reader, std::move(request),
                   {{"input_layout", inputLayout, "FIA-C7", "a layout, such as BSH", IsMissingTensor},
                    {"attention_out", attentionOut, "FIA-A3", "a tensor", IsMissingTensor},
                    {"workspaceSize", workspaceSize, own_rule::kHandle, "a place for the answer", IsMissingTensor},
                    {"executor", executor, own_rule::kHandle, "a place for the answer", IsMissingTensor}},
                   {attentionOut, softmaxLse, softmaxLseFlag, false, workspaceSize, executor});
    });
}

aclnnStatus aclnnFusedInferAttentionScoreV4(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                            const aclrtStream stream) {
    return SecondPhase(kFusedInferAttentionScoreV2, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnFusedInferAttentionScoreV3GetWorkspaceSize(
    const aclTensor* query, const aclTensorList* key, const aclTensorList* value, const aclTensor* pseShiftOptional,
    const aclTensor* attenMaskOptional, const aclIntArray* actualSeqLengthsOptional,
    const aclIntArray* actualSeqLengthsKvOptional, const aclTensor* deqScale1Optional,
    const aclTensor* quantScale1Optional, const aclTensor* deqScale2Optional, const aclTensor* quantScale2Optional,
    const aclTensor* quantOffset2Optional, const aclTensor* antiquantScaleOptional,
    const aclTensor* antiquantOffsetOptional, const aclTensor* blockTableOptional,
    const aclTensor* queryPaddingSizeOptional, const aclTensor* kvPaddingSizeOptional,
    const aclTensor* keyAntiquantScaleOptional, const aclTensor* keyAntiquantOffsetOptional,
    const aclTensor* valueAntiquantScaleOptional, const aclTensor* valueAntiquantOffsetOptional,
    const aclTensor* keySharedPrefixOptional, const aclTensor* valueSharedPrefixOptional,
    const aclIntArray* actualSharedPrefixLenOptional, const aclTensor* queryRopeOptional,
    const aclTensor* keyRopeOptional, const aclTensor* keyRopeAntiquantScaleOptional, int64_t numHeads,
    double scaleValue, int64_t preTokens, int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads,
    int64_t sparseMode, int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag,
    int64_t keyAntiquantMode, int64_t valueAntiquantMode, const aclTensor* attentionOut, const aclTensor* softmaxLse,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
    return aclnnFusedInferAttentionScoreV4GetWorkspaceSize(
        query, key, value, pseShiftOptional, attenMaskOptional, actualSeqLengthsOptional, actualSeqLengthsKvOptional,
        deqScale1Optional, quantScale1Optional, deqScale2Optional, quantScale2Optional, quantOffset2Optional,
        antiquantScaleOptional, antiquantOffsetOptional, blockTableOptional, queryPaddingSizeOptional,
        kvPaddingSizeOptional, keyAntiquantScaleOptional, keyAntiquantOffsetOptional, valueAntiquantScaleOptional,
        valueAntiquantOffsetOptional, keySharedPrefixOptional, valueSharedPrefixOptional, actualSharedPrefixLenOptional,
        queryRopeOptional, keyRopeOptional, keyRopeAntiquantScaleOptional, nullptr, nullptr, numHeads, scaleValue,
        preTokens, nextTokens, inputLayout, numKeyValueHeads, sparseMode, innerPrecise, blockSize, antiquantMode,
        softmaxLseFlag, keyAntiquantMode, valueAntiquantMode, 0, attentionOut, softmaxLse, workspaceSize, executor);
}

aclnnStatus aclnnFusedInferAttentionScoreV3(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                            const aclrtStream stream) {
    return SecondPhase(kFusedInferAttentionScoreV2, workspace, workspaceSize, executor, stream);
}
