// SPDX-License-Identifier: Apache-2.0
// The one header the doors (torch, pybind11, C) include: from a request to outputs, plan and kernel arguments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/contract.h"
#include "common/soc.h"
#include "common/status.h"
#include "common/tensor.h"
#include "fused_infer_attention_score_v2/request.h"
#include "plan/planner.h"

namespace ascend_attention {

// One result. `fill`: the kernel does not write it, the door fills every element with this value.
struct OutputSpec {
    DType dtype = DType::kOther;
    Shape shape;
    std::optional<float> fill;
};

struct FusedInferAttentionScoreV2Outputs {
    OutputSpec attention_out;
    OutputSpec softmax_lse;
};

// Kernel arguments in launch order, each a 64-bit word.
enum class KernelArgument : uint8_t {
    kQuery,
    kKey,
    kValue,
    kAttenMask,  // 0 when the request has none or its content is never read (sparse_mode 2, 3, 4)
    kAttentionOut,
    kSoftmaxLse,  // 0 when not wanted
    kWorkspace,
    kPlan,
};
constexpr int kKernelArgumentCount = 8;

struct BufferBinding {
    const char* name = "";  // for reports: "query", ..., "workspace", "plan"
    bool present = false;   // false: pass 0
    bool written = false;   // attention_out, softmax_lse, workspace
    uint64_t bytes = 0;
};

struct Prepared {
    FusedInferAttentionScoreV2Outputs outputs;
    bool launch = false;  // false: nothing runs; filling the outputs (see OutputSpec::fill) is all there is to do
    Plan plan;            // valid when launch
    std::array<BufferBinding, kKernelArgumentCount> arguments;  // valid when launch; index by KernelArgument
};

// Shapes and dtypes of the results, checks included (fake kernels, out-variants).
Status InferOutputs(const FusedInferAttentionScoreV2Request& request, Contract contract,
                    FusedInferAttentionScoreV2Outputs* outputs);

// What a request means, in words for people: layout, lengths, what each row sees, quantisation, results, and the rules
// that were checked. A request that the document refuses is refused; one that is only not built yet is explained.
Status Explain(const FusedInferAttentionScoreV2Request& request, Contract contract, std::string* text);

// Check, infer, lower, plan. On a refusal `prepared` is unchanged.
Status Prepare(const FusedInferAttentionScoreV2Request& request, const Soc& soc, Contract contract, Prepared* prepared);

// Out-variants: do the caller's own result tensors fit? A softmax_lse that is not wanted may be any placeholder.
// `return_softmax_lse` as in the request.
Status CheckOutputs(const FusedInferAttentionScoreV2Outputs& outputs, bool return_softmax_lse,
                    const TensorView& attention_out, const TensorView& softmax_lse);

}  // namespace ascend_attention
