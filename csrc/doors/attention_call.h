// SPDX-License-Identifier: Apache-2.0
// One call of an operator: check, lower, plan; then, on buffers that the door allocated, launch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "api.h"
#include "doors/export.h"

namespace ascend_attention::doors {

struct CallSettings;

// A call of any operator.
using AnyRequest =
    std::variant<FusedInferAttentionScoreV2Request, PromptFlashAttentionRequest, BlockSparseAttentionV2Request>;

// Shapes and dtypes of the results, after every check that needs no plan, for the SoC and contract in force. Throws
// Refusal.
ASCEND_ATTENTION_API AttentionOutputs InferCall(const AnyRequest& request);

// What the request means, in words, under the contract in force. Throws Refusal.
ASCEND_ATTENTION_API std::string ExplainCall(const AnyRequest& request);

// An accepted request with its plan, for the SoC, mode and contract that are current where it is made. The request's
// tensors must outlive Run().
class ASCEND_ATTENTION_API AttentionCall {
public:
    // `threads`: host threads of a simulated run; 0 = CPUs available. Throws Refusal; nothing has been touched then.
    AttentionCall(AnyRequest request, int threads);

    const AttentionOutputs& outputs() const { return prepared_.outputs; }
    // Scratch memory that Run() needs on the device.
    std::uint64_t workspace_bytes() const;
    // Enough for a call with these tensors whatever the lengths, so that one buffer serves a captured graph.
    std::uint64_t MaxWorkspaceBytes() const;
    // The plan in words.
    std::string Describe() const;

    // For results and workspace that the caller brings: refuses what does not fit or overlaps an input, so that Run()
    // can be given their addresses. `workspace` may be null. Returns whether softmax_lse is to be written: one that was
    // not asked for may be any placeholder and is left alone.
    bool AcceptsBuffers(const TensorView& attention_out, const TensorView& softmax_lse,
                        const TensorView* workspace) const;

    // What to say where a result of that name is to be written and was not given. Throws Refusal.
    [[noreturn]] void RefuseMissingResult(const std::string& name) const;

    // Writes the results. softmax_lse null: not written. workspace null: allocated here. Throws sim::SimulatorFailure.
    void Run(void* attention_out, void* softmax_lse, void* workspace) const;

private:
    Status Refused(const char* rule, const std::string& argument, std::string given, std::string allowed,
                   std::string help) const;
    void Fill(const OutputSpec& spec, void* data) const;

    AnyRequest request_;
    std::shared_ptr<const CallSettings> settings_;
    Soc soc_;
    Prepared prepared_;
};

// `bytes` of one element, for doors that size buffers.
ASCEND_ATTENTION_API std::int64_t BytesOf(const OutputSpec& spec);
// A view as the host wants it, from a dtype's name ("float16", "torch.float16").
ASCEND_ATTENTION_API TensorView MakeTensorView(const void* data, const std::string& dtype, Shape shape,
                                               bool contiguous);
ASCEND_ATTENTION_API std::string DTypeName(DType dtype);

}  // namespace ascend_attention::doors
