// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_block_sparse_attention_v2.h"

#include <cstring>
#include <utility>

#include "aclnn/phases.h"

namespace ascend_attention::aclnn {
namespace {

bool IsOneOf(const Status& refusal, std::initializer_list<const char*> rules) {
    for (const char* rule : rules) {
        if (refusal.rule == rule) {
            return true;
        }
    }
    return false;
}

// The document's order: query, key, value; their dtypes; that layouts are given; layouts, block shape, inner_precise;
// that the results' places are given; everything else.
bool ComesBeforeLayouts(const Status& refusal) { return IsOneOf(refusal, {"BSA-A1", "BSA-C1", "BSA-C2", "BSA-C35"}); }
bool ComesBeforeResults(const Status& refusal) {
    return ComesBeforeLayouts(refusal) || IsOneOf(refusal, {"BSA-C4", "BSA-C5", "BSA-C6"});
}

}  // namespace
}  // namespace ascend_attention::aclnn

using namespace ascend_attention;
using namespace ascend_attention::aclnn;

aclnnStatus aclnnBlockSparseAttentionV2GetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* blockSparseMaskOptional,
    const aclTensor* attenMaskOptional, const aclIntArray* blockShapeOptional,
    const aclIntArray* actualSeqLengthsOptional, const aclIntArray* actualSeqLengthsKvOptional,
    const aclTensor* blockTableOptional, const aclTensor* qDequantScaleOptional, const aclTensor* kDequantScaleOptional,
    const aclTensor* vDequantScaleOptional, char* qInputLayout, char* kvInputLayout, int64_t numKeyValueHeads,
    int64_t maskType, double scaleValue, int64_t innerPrecise, int64_t blockSize, int64_t preTokens, int64_t nextTokens,
    int64_t softmaxLseFlag, aclTensor* attentionOut, aclTensor* softmaxLseOptional, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
    return Guarded([&] {
        Reader reader(kBlockSparseAttentionV2);
        BlockSparseAttentionV2Request request;
        request.query = reader.Tensor("query", query);
        request.key = reader.Tensor("key", key);
        request.value = reader.Tensor("value", value);
        request.block_sparse_mask = reader.Tensor("block_sparse_mask", blockSparseMaskOptional);
        request.atten_mask = reader.Tensor("atten_mask", attenMaskOptional);
        request.block_shape = reader.Lengths("block_shape", blockShapeOptional);
        request.actual_seq_lengths = reader.Lengths("actual_seq_lengths", actualSeqLengthsOptional);
        request.actual_seq_lengths_kv = reader.Lengths("actual_seq_lengths_kv", actualSeqLengthsKvOptional);
        request.block_table = reader.Tensor("block_table", blockTableOptional);
        request.q_dequant_scale = reader.Tensor("q_dequant_scale", qDequantScaleOptional);
        request.k_dequant_scale = reader.Tensor("k_dequant_scale", kDequantScaleOptional);
        request.v_dequant_scale = reader.Tensor("v_dequant_scale", vDequantScaleOptional);
        // A layout that is missing is refused below; what stands in for it decides nothing before that.
        request.q_input_layout = qInputLayout != nullptr ? qInputLayout : "TND";
        request.kv_input_layout = kvInputLayout != nullptr ? kvInputLayout : "TND";
        request.num_key_value_heads = numKeyValueHeads;
        request.mask_type = maskType;
        request.scale_value = scaleValue;
        request.inner_precise = innerPrecise;
        request.block_size = blockSize;
        request.pre_tokens = preTokens;
        request.next_tokens = nextTokens;
        request.softmax_lse_flag = softmaxLseFlag;
        const ResultArguments results = {attentionOut, softmaxLseOptional, request.wants_lse(),
                                         true,         workspaceSize,      executor};
        FirstPhase(&reader, std::move(request),
                   {{"q_input_layout", qInputLayout, "BSA-C3", "TND, BNSD, BSND", ComesBeforeLayouts},
                    {"kv_input_layout", kvInputLayout, "BSA-C3", "TND, BNSD, BSND", ComesBeforeLayouts},
                    {"attention_out", attentionOut, "BSA-C7", "a tensor", ComesBeforeResults},
                    {"workspaceSize", workspaceSize, "BSA-C7", "a place for the answer", ComesBeforeResults},
                    {"executor", executor, "BSA-C7", "a place for the answer", ComesBeforeResults}},
                   results);
    });
}

aclnnStatus aclnnBlockSparseAttentionV2(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        aclrtStream stream) {
    return SecondPhase(kBlockSparseAttentionV2, workspace, workspaceSize, executor, stream);
}
