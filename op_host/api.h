// SPDX-License-Identifier: Apache-2.0
// The one header the doors (torch, pybind11, C) include: from a request to outputs, plan and kernel arguments. One set
// of overloads per operator.
#pragma once

#include <string>

#include "block_sparse_attention_v2/request.h"
#include "common/contract.h"
#include "common/soc.h"
#include "common/status.h"
#include "common/tensor.h"
#include "fused_infer_attention_score_v2/request.h"
#include "plan/planner.h"
#include "plan/prepared.h"
#include "prompt_flash_attention/request.h"

namespace ascend_attention {

// Shapes and dtypes of the results, checks included (fake kernels, out-variants). A refusal leaves `outputs` alone.
Status InferOutputs(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract,
                    AttentionOutputs* outputs);
Status InferOutputs(const PromptFlashAttentionRequest& request, const Soc& soc, Contract contract,
                    AttentionOutputs* outputs);
Status InferOutputs(const BlockSparseAttentionV2Request& request, const Soc& soc, Contract contract,
                    AttentionOutputs* outputs);

// What a request means, in words for people: layout, lengths, what each row sees, quantisation, results, and the rules
// that were checked. A request that the document refuses is refused; one that is only not built yet is explained.
Status Explain(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract, std::string* text);
Status Explain(const PromptFlashAttentionRequest& request, const Soc& soc, Contract contract, std::string* text);
Status Explain(const BlockSparseAttentionV2Request& request, const Soc& soc, Contract contract, std::string* text);

// Check, infer, lower, plan. On a refusal `prepared` is unchanged.
Status Prepare(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract, Prepared* prepared);
Status Prepare(const PromptFlashAttentionRequest& request, const Soc& soc, Contract contract, Prepared* prepared);
Status Prepare(const BlockSparseAttentionV2Request& request, const Soc& soc, Contract contract, Prepared* prepared);

// Out-variants: do the caller's own result tensors fit? `outputs` as inferred. A softmax_lse that is not wanted may be
// any placeholder.
Status CheckOutputs(const FusedInferAttentionScoreV2Request& request, const AttentionOutputs& outputs,
                    const TensorView& attention_out, const TensorView& softmax_lse);
Status CheckOutputs(const PromptFlashAttentionRequest& request, const AttentionOutputs& outputs,
                    const TensorView& attention_out, const TensorView& softmax_lse);
Status CheckOutputs(const BlockSparseAttentionV2Request& request, const AttentionOutputs& outputs,
                    const TensorView& attention_out, const TensorView& softmax_lse);

}  // namespace ascend_attention
