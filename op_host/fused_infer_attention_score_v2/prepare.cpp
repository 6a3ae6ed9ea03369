// SPDX-License-Identifier: Apache-2.0
// The entry of the doors: check, infer, lower, plan.
#include <utility>

#include "api.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/infer.h"
#include "fused_infer_attention_score_v2/lower.h"

namespace ascend_attention {
namespace {

using fia_v2::Scene;

// Checks everything; an empty query is answered whatever features it asks for, because nothing has to be computed.
Status CheckAndInfer(const Soc& soc, Scene& scene, AttentionOutputs* outputs) {
    if (Status status = fia_v2::CheckListed(soc); !status.ok()) {
        return status;
    }
    if (Status status = fia_v2::CheckDocument(scene); !status.ok()) {
        fia_v2::Advise(scene, &status);
        return status;
    }
    if (!scene.empty_query()) {
        if (Status status = fia_v2::CheckSupported(scene); !status.ok()) {
            return status;
        }
    }
    *outputs = fia_v2::InferShapes(scene);
    if (scene.empty_query() || scene.empty_keys()) {
        FillResults(scene.request.return_softmax_lse, outputs);
    }
    return OkStatus();
}

}  // namespace

Status InferOutputs(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract,
                    AttentionOutputs* outputs) {
    Scene scene(request, contract);
    return CheckAndInfer(soc, scene, outputs);
}

Status Prepare(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract,
               Prepared* prepared) {
    Scene scene(request, contract);
    Prepared result;
    if (Status status = CheckAndInfer(soc, scene, &result.outputs); !status.ok()) {
        return status;
    }
    if (!scene.empty_query() && !scene.empty_keys()) {
        const KernelInputs inputs = {request.query,      request.key,        request.value,     request.query_rope,
                                     request.key_rope,   request.atten_mask, request.pse_shift, request.learnable_sink,
                                     request.block_table};
        const AttentionProblem problem = fia_v2::Lower(scene);
        if (Status status = PlanLaunch(problem, inputs, fia_v2::ListAddresses(scene), soc, &result); !status.ok()) {
            return status;
        }
    }
    *prepared = std::move(result);
    return OkStatus();
}

Status CheckOutputs(const FusedInferAttentionScoreV2Request& request, const AttentionOutputs& outputs,
                    const TensorView& attention_out, const TensorView& softmax_lse) {
    const char* op = kFusedInferAttentionScoreV2;
    Status status = CheckResult(op, "FIA-A3", "attention_out", attention_out, outputs.attention_out);
    // Without return_softmax_lse callers hand over any placeholder: (1,) of some dtype, or an empty tensor.
    if (!status.ok() || !request.return_softmax_lse) {
        return status;
    }
    return CheckResult(op, "FIA-A3", "softmax_lse", softmax_lse, outputs.softmax_lse);
}

}  // namespace ascend_attention
