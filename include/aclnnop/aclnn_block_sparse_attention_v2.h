/* SPDX-License-Identifier: Apache-2.0
 * Block-sparse attention: attentionOut = softmax(scaleValue * query * keyT) * value, over the blocks of the score
 * matrix that blockSparseMask selects. Arguments, limits and codes: docs/aclnn.md. */
#ifndef ASCEND_ATTENTION_ACLNNOP_BLOCK_SPARSE_ATTENTION_V2_H
#define ASCEND_ATTENTION_ACLNNOP_BLOCK_SPARSE_ATTENTION_V2_H

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* First phase: checks everything, gives the bytes of workspace and an executor for one second phase. Nothing is written
 * through workspaceSize and executor when it refuses. */
__attribute__((visibility("default"))) aclnnStatus aclnnBlockSparseAttentionV2GetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* blockSparseMaskOptional,
    const aclTensor* attenMaskOptional, const aclIntArray* blockShapeOptional,
    const aclIntArray* actualSeqLengthsOptional, const aclIntArray* actualSeqLengthsKvOptional,
    const aclTensor* blockTableOptional, const aclTensor* qDequantScaleOptional, const aclTensor* kDequantScaleOptional,
    const aclTensor* vDequantScaleOptional, char* qInputLayout, char* kvInputLayout, int64_t numKeyValueHeads,
    int64_t maskType, double scaleValue, int64_t innerPrecise, int64_t blockSize, int64_t preTokens, int64_t nextTokens,
    int64_t softmaxLseFlag, aclTensor* attentionOut, aclTensor* softmaxLseOptional, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/* Second phase: puts what the first one planned on the stream. */
__attribute__((visibility("default"))) aclnnStatus aclnnBlockSparseAttentionV2(void* workspace, uint64_t workspaceSize,
                                                                               aclOpExecutor* executor,
                                                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
