// SPDX-License-Identifier: Apache-2.0
// What a door gets for an accepted request: shapes and dtypes of the results, the plan, and what is bound to which
// kernel argument.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/tensor.h"
#include "plan/planner.h"

namespace ascend_attention {

// One result. `fill`: the kernel does not write it, the door fills every element with this value.
struct OutputSpec {
    DType dtype = DType::kOther;
    Shape shape;
    std::optional<float> fill;
};

struct AttentionOutputs {
    OutputSpec attention_out;
    OutputSpec softmax_lse;  // float32; meaningless for an operator without that result
};

// Kernel arguments in launch order, each a 64-bit word.
enum class KernelArgument : uint8_t {
    kQuery,
    kKey,
    kValue,
    kQueryRope,  // 0 without rope, as is kKeyRope
    kKeyRope,
    kAttenMask,  // 0 when the request has none or its content is never read (sparse_mode 2, 3, 4)
    kPseShift,
    kLearnableSink,
    kBlockTable,  // 0 for dense keys; the map where keys are selected
    kAttentionOut,
    kSoftmaxLse,  // 0 when not wanted
    kWorkspace,
    kPlan,
};
constexpr int kKernelArgumentCount = 13;

struct BufferBinding {
    const char* name = "";  // for reports: "query", ..., "workspace", "plan"
    bool present = false;   // false: pass 0
    bool written = false;   // attention_out, softmax_lse, workspace
    uint64_t bytes = 0;
};

// key and value as lists of tensors: the kernel's arguments are then lists of addresses, of each tensor in turn one for
// each key head.
struct AddressList {
    int64_t heads = 0;                // 0: no lists
    std::vector<int64_t> head_bytes;  // of each tensor, from one head to the next
};

struct Prepared {
    AttentionOutputs outputs;
    bool launch = false;  // false: nothing runs; filling the outputs (see OutputSpec::fill) is all there is to do
    Plan plan;            // valid when launch
    std::array<BufferBinding, kKernelArgumentCount> arguments;  // valid when launch; index by KernelArgument
    AddressList lists;                                          // valid when launch
    uint64_t max_workspace_bytes = 0;  // enough for a call with these tensors, whatever the lengths
};

// Results that need no kernel, because no row sees a key: zeros, and +inf where the logarithm is wanted.
void FillResults(bool writes_lse, AttentionOutputs* outputs);

struct KernelInputs {
    const OptionalTensor& query;
    const OptionalTensor& key;
    const OptionalTensor& value;
    const OptionalTensor& query_rope;
    const OptionalTensor& key_rope;
    const OptionalTensor& atten_mask;
    const OptionalTensor& pse_shift;
    const OptionalTensor& learnable_sink;
    const OptionalTensor& block_table;  // or block_sparse_mask
};
// Completes `prepared`, whose outputs are set, with the plan of `problem` and its buffers; fills instead when no row
// sees a key. `lists`: of key and value, when they are some.
Status PlanLaunch(const AttentionProblem& problem, const KernelInputs& inputs, AddressList lists, const Soc& soc,
                  Prepared* prepared);

// The caller's own result: 161002 under `rule` unless it is what would have been made.
Status CheckResult(const char* op, const char* rule, const char* name, const TensorView& given,
                   const OutputSpec& wanted);

}  // namespace ascend_attention
