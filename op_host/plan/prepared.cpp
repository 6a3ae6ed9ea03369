// SPDX-License-Identifier: Apache-2.0
#include "plan/prepared.h"

#include <algorithm>
#include <limits>

#include "common/text.h"

namespace ascend_attention {
namespace {

uint64_t BytesOf(const Shape& shape, DType dtype) { return uint64_t(NumElements(shape)) * uint64_t(SizeOf(dtype)); }
uint64_t BytesOf(const TensorView& tensor) { return BytesOf(tensor.shape, tensor.dtype); }
uint64_t BytesOf(const OutputSpec& spec) { return BytesOf(spec.shape, spec.dtype); }

void Bind(const AttentionProblem& problem, const KernelInputs& inputs, Prepared* prepared) {
    const auto set = [&](KernelArgument argument, const char* name, bool present, bool written, uint64_t bytes) {
        prepared->arguments[size_t(argument)] = {name, present, written, present ? bytes : 0};
    };
    set(KernelArgument::kQuery, "query", true, false, BytesOf(inputs.query));
    set(KernelArgument::kKey, "key", true, false, BytesOf(inputs.key));
    set(KernelArgument::kValue, "value", true, false, BytesOf(inputs.value));
    set(KernelArgument::kQueryRope, "query_rope", false, false, 0);
    set(KernelArgument::kKeyRope, "key_rope", false, false, 0);
    set(KernelArgument::kAttenMask, "atten_mask", problem.has_mask, false, inputs.mask ? BytesOf(*inputs.mask) : 0);
    set(KernelArgument::kPseShift, "pse_shift", false, false, 0);
    set(KernelArgument::kLearnableSink, "learnable_sink", false, false, 0);
    set(KernelArgument::kBlockTable, "block_table", false, false, 0);
    set(KernelArgument::kAttentionOut, "attention_out", true, true, BytesOf(prepared->outputs.attention_out));
    set(KernelArgument::kSoftmaxLse, "softmax_lse", problem.writes_lse, true, BytesOf(prepared->outputs.softmax_lse));
    set(KernelArgument::kWorkspace, "workspace", true, true, prepared->plan.workspace_bytes);
    set(KernelArgument::kPlan, "plan", true, false, prepared->plan.bytes.size());
}

}  // namespace

void FillResults(bool writes_lse, AttentionOutputs* outputs) {
    outputs->attention_out.fill = 0.0f;
    if (writes_lse) {
        outputs->softmax_lse.fill = std::numeric_limits<float>::infinity();
    }
}

Status PlanLaunch(const AttentionProblem& problem, const KernelInputs& inputs, const Soc& soc, Prepared* prepared) {
    const bool any_keys = std::any_of(problem.sequences.begin(), problem.sequences.end(),
                                      [](const ProblemSequence& sequence) { return sequence.key_length > 0; });
    if (!any_keys) {
        FillResults(problem.writes_lse, &prepared->outputs);
        return OkStatus();
    }
    if (Status status = MakePlan(problem, soc, &prepared->plan); !status.ok()) {
        return status;
    }
    prepared->launch = true;
    Bind(problem, inputs, prepared);
    return OkStatus();
}

Status CheckResult(const char* op, const char* rule, const char* name, const TensorView& given,
                   const OutputSpec& wanted) {
    if (given.dtype == wanted.dtype && given.shape == wanted.shape && given.contiguous) {
        return OkStatus();
    }
    return Refusal(op, rule, name,
                   Concat(DTypeText(given), " ", ShapeText(given.shape), given.contiguous ? "" : ", non-contiguous"),
                   Concat(NameOf(wanted.dtype), " ", ShapeText(wanted.shape), ", contiguous"));
}

}  // namespace ascend_attention
