/* SPDX-License-Identifier: Apache-2.0
 * npu_prompt_flash_attention in C. Arguments, limits and codes: docs/aclnn.md. */
#ifndef ASCEND_ATTENTION_ACLNNOP_PROMPT_FLASH_ATTENTION_V3_H
#define ASCEND_ATTENTION_ACLNNOP_PROMPT_FLASH_ATTENTION_V3_H

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* First phase; see aclnn_block_sparse_attention_v2.h for what all first and second phases have in common. */
__attribute__((visibility("default"))) aclnnStatus aclnnPromptFlashAttentionV3GetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* pseShift,
    const aclTensor* attenMask, const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
    const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2, const aclTensor* quantScale2,
    const aclTensor* quantOffset2, int64_t numHeads, double scaleValue, int64_t preTokens, int64_t nextTokens,
    char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t innerPrecise,
    const aclTensor* attentionOut, uint64_t* workspaceSize, aclOpExecutor** executor);

__attribute__((visibility("default"))) aclnnStatus aclnnPromptFlashAttentionV3(void* workspace, uint64_t workspaceSize,
                                                                               aclOpExecutor* executor,
                                                                               const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
