// SPDX-License-Identifier: Apache-2.0
// The entry of the doors: check, infer, lower, plan.
#include <utility>

#include "api.h"
#include "prompt_flash_attention/check.h"
#include "prompt_flash_attention/lower.h"

namespace ascend_attention {
namespace {

using pfa::Scene;

// PFA-C17: with nothing to compute, what is not built does not matter.
Status CheckAndInfer(Scene& scene, AttentionOutputs* outputs) {
    if (Status status = pfa::CheckDocument(scene); !status.ok()) {
        pfa::Advise(scene, &status);
        return status;
    }
    if (!scene.empty_query() && !scene.empty_keys()) {
        if (Status status = pfa::CheckSupported(scene); !status.ok()) {
            return status;
        }
    }
    *outputs = pfa::InferShapes(scene);
    if (scene.empty_query() || scene.empty_keys()) {
        FillResults(false, outputs);
    }
    return OkStatus();
}

}  // namespace

Status InferOutputs(const PromptFlashAttentionRequest& request, const Soc& soc, Contract contract,
                    AttentionOutputs* outputs) {
    Scene scene(request, soc, contract);
    return CheckAndInfer(scene, outputs);
}

Status Prepare(const PromptFlashAttentionRequest& request, const Soc& soc, Contract contract, Prepared* prepared) {
    Scene scene(request, soc, contract);
    Prepared result;
    if (Status status = CheckAndInfer(scene, &result.outputs); !status.ok()) {
        return status;
    }
    if (!scene.empty_query() && !scene.empty_keys()) {
        const OptionalTensor none;
        const KernelInputs inputs = {request.query,      request.key,       request.value, none, none,
                                     request.atten_mask, request.pse_shift, none,          none};
        if (Status status = PlanLaunch(pfa::Lower(scene), inputs, {}, soc, &result); !status.ok()) {
            return status;
        }
    }
    *prepared = std::move(result);
    return OkStatus();
}

Status CheckOutputs(const PromptFlashAttentionRequest&, const AttentionOutputs& outputs,
                    const TensorView& attention_out, const TensorView&) {
    return CheckResult(kPromptFlashAttention, "PFA-A3", "attention_out", attention_out, outputs.attention_out);
}

}  // namespace ascend_attention
