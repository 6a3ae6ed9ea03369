// SPDX-License-Identifier: Apache-2.0
// The entry of the doors: check, infer, lower, plan, and say what is bound to which kernel argument.
#include <limits>

#include "api.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/infer.h"
#include "fused_infer_attention_score_v2/lower.h"

namespace ascend_attention {
namespace {

using fia_v2::Scene;

// Results that need no kernel: nothing to compute, or no row that sees a key.
void FillResults(const Scene& scene, FusedInferAttentionScoreV2Outputs* outputs) {
    outputs->attention_out.fill = 0.0f;
    if (scene.request.return_softmax_lse) {
        outputs->softmax_lse.fill = std::numeric_limits<float>::infinity();
    }
}

// Checks everything; an empty query is answered whatever features it asks for, because nothing has to be computed.
Status CheckAndInfer(Scene& scene, FusedInferAttentionScoreV2Outputs* outputs) {
    if (Status status = fia_v2::CheckDocument(scene); !status.ok()) {
        fia_v2::MentionUnsupported(scene, &status);
        return status;
    }
    if (!scene.empty_query()) {
        if (Status status = fia_v2::CheckSupported(scene); !status.ok()) {
            return status;
        }
    }
    *outputs = fia_v2::InferShapes(scene);
    if (scene.empty_query() || scene.empty_keys()) {
        FillResults(scene, outputs);
    }
    return OkStatus();
}

bool AnyKeys(const AttentionProblem& problem) {
    for (const ProblemSequence& sequence : problem.sequences) {
        if (sequence.key_length > 0) {
            return true;
        }
    }
    return false;
}

uint64_t BytesOf(const Shape& shape, DType dtype) { return uint64_t(NumElements(shape)) * uint64_t(SizeOf(dtype)); }

void Bind(const Scene& scene, Prepared* prepared) {
    const auto set = [&](KernelArgument argument, const char* name, bool present, bool written, uint64_t bytes) {
        prepared->arguments[size_t(argument)] = {name, present, written, present ? bytes : 0};
    };
    const auto bytes_of = [](const fia_v2::OptionalTensor& tensor) {
        return tensor ? BytesOf(tensor->shape, tensor->dtype) : 0;
    };
    const fia_v2::Request& request = scene.request;
    const OutputSpec& out = prepared->outputs.attention_out;
    const OutputSpec& lse = prepared->outputs.softmax_lse;
    set(KernelArgument::kQuery, "query", true, false, bytes_of(request.query));
    set(KernelArgument::kKey, "key", true, false, bytes_of(request.key));
    set(KernelArgument::kValue, "value", true, false, bytes_of(request.value));
    set(KernelArgument::kAttenMask, "atten_mask", fia_v2::ReadsMask(scene), false, bytes_of(request.atten_mask));
    set(KernelArgument::kAttentionOut, "attention_out", true, true, BytesOf(out.shape, out.dtype));
    set(KernelArgument::kSoftmaxLse, "softmax_lse", request.return_softmax_lse, true, BytesOf(lse.shape, lse.dtype));
    set(KernelArgument::kWorkspace, "workspace", true, true, prepared->plan.workspace_bytes);
    set(KernelArgument::kPlan, "plan", true, false, prepared->plan.bytes.size());
}

Status RefuseOutput(const char* name, const TensorView& given, const OutputSpec& wanted) {
    return fia_v2::Refuse(
        "FIA-A3", name,
        Concat(DTypeText(given), " ", ShapeText(given.shape), given.contiguous ? "" : ", non-contiguous"),
        Concat(NameOf(wanted.dtype), " ", ShapeText(wanted.shape), ", contiguous"));
}

bool Fits(const TensorView& given, const OutputSpec& wanted) {
    return given.dtype == wanted.dtype && given.shape == wanted.shape && given.contiguous;
}

}  // namespace

Status InferOutputs(const FusedInferAttentionScoreV2Request& request, Contract contract,
                    FusedInferAttentionScoreV2Outputs* outputs) {
    Scene scene(request, contract);
    return CheckAndInfer(scene, outputs);
}

Status Prepare(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract,
               Prepared* prepared) {
    Scene scene(request, contract);
    Prepared result;
    if (Status status = CheckAndInfer(scene, &result.outputs); !status.ok()) {
        return status;
    }
    if (!scene.empty_query() && !scene.empty_keys()) {
        const AttentionProblem problem = fia_v2::Lower(scene);
        if (AnyKeys(problem)) {
            if (Status status = MakePlan(problem, soc, &result.plan); !status.ok()) {
                return status;
            }
            result.launch = true;
            Bind(scene, &result);
        } else {
            FillResults(scene, &result.outputs);
        }
    }
    *prepared = std::move(result);
    return OkStatus();
}

Status CheckOutputs(const FusedInferAttentionScoreV2Outputs& outputs, bool return_softmax_lse,
                    const TensorView& attention_out, const TensorView& softmax_lse) {
    if (!Fits(attention_out, outputs.attention_out)) {
        return RefuseOutput("attention_out", attention_out, outputs.attention_out);
    }
    // Without return_softmax_lse callers hand over any placeholder: (1,) of some dtype, or an empty tensor.
    if (return_softmax_lse && !Fits(softmax_lse, outputs.softmax_lse)) {
        return RefuseOutput("softmax_lse", softmax_lse, outputs.softmax_lse);
    }
    return OkStatus();
}

}  // namespace ascend_attention
