// SPDX-License-Identifier: Apache-2.0
// The entry of the doors: check, infer, lower, plan.
#include <utility>

#include "api.h"
#include "block_sparse_attention_v2/check.h"
#include "block_sparse_attention_v2/lower.h"
#include "plan/selection.h"

namespace ascend_attention {

namespace bsa_v2 {

AttentionOutputs InferShapes(const Scene& scene) {
    const Request& request = scene.request;
    AttentionOutputs outputs;
    // The C interface takes the dtype from the caller's tensor; made by us, the result of float8 inputs is bfloat16.
    outputs.attention_out.dtype = scene.fp8() ? DType::kBFloat16 : request.query->dtype;
    outputs.attention_out.shape = request.query->shape;
    outputs.softmax_lse.dtype = DType::kFloat32;
    outputs.softmax_lse.shape = {0};  // not wanted: nothing is written
    if (request.wants_lse()) {
        outputs.softmax_lse.shape = request.query->shape;
        outputs.softmax_lse.shape.back() = 1;
    }
    return outputs;
}

}  // namespace bsa_v2

namespace {

// With nothing to compute, what is not built does not matter.
Status CheckAndInfer(bsa_v2::Scene& scene, AttentionOutputs* outputs) {
    if (Status status = bsa_v2::CheckDocument(scene); !status.ok()) {
        return status;
    }
    const bool empty = scene.empty_query() || scene.empty_keys();
    if (!empty) {
        if (Status status = bsa_v2::CheckSupported(scene); !status.ok()) {
            return status;
        }
    }
    *outputs = bsa_v2::InferShapes(scene);
    if (empty) {
        FillResults(scene.request.wants_lse(), outputs);
    }
    return OkStatus();
}

}  // namespace

Status InferOutputs(const BlockSparseAttentionV2Request& request, const Soc& soc, Contract, AttentionOutputs* outputs) {
    bsa_v2::Scene scene(request, soc);
    return CheckAndInfer(scene, outputs);
}

Status Prepare(const BlockSparseAttentionV2Request& request, const Soc& soc, Contract, Prepared* prepared) {
    bsa_v2::Scene scene(request, soc);
    Prepared result;
    if (Status status = CheckAndInfer(scene, &result.outputs); !status.ok()) {
        return status;
    }
    if (!scene.empty_query() && !scene.empty_keys()) {
        const OptionalTensor none;
        const KernelInputs inputs = {
            request.query, request.key, request.value, none, none, none, none, none, request.block_sparse_mask};
        if (Status status = PlanLaunch(bsa_v2::Lower(scene), inputs, {}, soc, &result); !status.ok()) {
            return status;
        }
        result.max_workspace_bytes += MaxListBytes(request.block_sparse_mask->shape, soc.aic_count);
    }
    *prepared = std::move(result);
    return OkStatus();
}

Status CheckOutputs(const BlockSparseAttentionV2Request& request, const AttentionOutputs& outputs,
                    const TensorView& attention_out, const TensorView& softmax_lse) {
    const char* op = kBlockSparseAttentionV2;
    OutputSpec wanted = outputs.attention_out;
    if (request.query->dtype == DType::kFloat8E4M3FN) {
        if (!IsHalfWidth(attention_out.dtype)) {
            return bsa_v2::Refuse("BSA-C41", "attention_out", DTypeText(attention_out), "float16, bfloat16");
        }
        wanted.dtype = attention_out.dtype;
    }
    Status status = CheckResult(op, "BSA-C42", "attention_out", attention_out, wanted);
    if (!status.ok() || !request.wants_lse()) {
        return status;
    }
    return CheckResult(op, "BSA-C43", "softmax_lse", softmax_lse, outputs.softmax_lse);
}

}  // namespace ascend_attention
