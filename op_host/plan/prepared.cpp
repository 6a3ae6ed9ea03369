// SPDX-License-Identifier: Apache-2.0
#include "plan/prepared.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/tensor_rules.h"
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
    const auto input = [&](KernelArgument argument, const char* name, const OptionalTensor& tensor, bool read) {
        set(argument, name, read, false, read ? BytesOf(*tensor) : 0);
    };
    input(KernelArgument::kQuery, "query", inputs.query, true);
    const uint64_t listed = uint64_t(prepared->lists.heads) * prepared->lists.head_bytes.size();
    if (listed > 0) {
        set(KernelArgument::kKey, "key", true, false, listed * sizeof(uint64_t));
        set(KernelArgument::kValue, "value", true, false, listed * sizeof(uint64_t));
    } else {
        input(KernelArgument::kKey, "key", inputs.key, true);
        input(KernelArgument::kValue, "value", inputs.value, true);
    }
    input(KernelArgument::kQueryRope, "query_rope", inputs.query_rope, problem.rope_dim > 0);
    input(KernelArgument::kKeyRope, "key_rope", inputs.key_rope, problem.rope_dim > 0);
    input(KernelArgument::kAttenMask, "atten_mask", inputs.atten_mask, problem.has_mask);
    input(KernelArgument::kPseShift, "pse_shift", inputs.pse_shift, problem.has_bias);
    input(KernelArgument::kLearnableSink, "learnable_sink", inputs.learnable_sink, problem.has_sink);
    const bool selected = problem.key_placement == KeyPlacement::kSelected;
    input(KernelArgument::kBlockTable, selected ? "block_sparse_mask" : "block_table", inputs.block_table,
          inputs.block_table.has_value());
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

Status PlanLaunch(const AttentionProblem& problem, const KernelInputs& inputs, AddressList lists, const Soc& soc,
                  Prepared* prepared) {
    prepared->max_workspace_bytes = MaxWorkspaceBytes(problem.head_dim, problem.value_head_dim, soc);
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
    prepared->lists = std::move(lists);
    Bind(problem, inputs, prepared);
    return OkStatus();
}

Status CheckResult(const char* op, const char* rule, const char* name, const TensorView& given,
                   const OutputSpec& wanted) {
    if (given.dtype == wanted.dtype && given.shape == wanted.shape && given.contiguous) {
        return MisalignedBytes(given) == 0 ? OkStatus() : RefuseMisaligned(op, name, given);
    }
    return Refusal(op, rule, name,
                   Concat(DTypeText(given), " ", ShapeText(given.shape), given.contiguous ? "" : ", non-contiguous"),
                   Concat(NameOf(wanted.dtype), " ", ShapeText(wanted.shape), ", contiguous"));
}

}  // namespace ascend_attention
