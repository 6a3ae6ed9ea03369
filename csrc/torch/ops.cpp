// SPDX-License-Identifier: Apache-2.0
// torch.ops.ascend_attention: schemas and CPU kernels, through torch's stable ABI only. Fake kernels are in Python.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <exception>
#include <optional>
#include <string>

#include "doors/fused_infer_attention_score_v2.h"
#include "doors/interpreter.h"
#include "doors/refusal.h"
#include "torch/arguments.h"

namespace ascend_attention::torch_door {
namespace {

using doors::FusedInferAttentionScoreV2Call;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using torch::stable::detail::from;

// Runs a kernel. Torch makes a RuntimeError of whatever it throws; the original waits for the package function.
template <class Body>
void Guarded(Body body) {
    const doors::InterpreterWatch watch;  // torch takes Python's lock when the kernel returns
    doors::ForgetFailure();
    try {
        body();
    } catch (...) {
        watch.ParkIfPythonEnded();
        doors::RememberFailure(std::current_exception());
        throw;
    }
    watch.ParkIfPythonEnded();
}

ScalarType ToScalarType(DType dtype) {
    switch (dtype) {
        case DType::kBFloat16:
            return ScalarType::BFloat16;
        case DType::kFloat32:
            return ScalarType::Float;
        case DType::kInt8:
            return ScalarType::Char;
        default:
            return ScalarType::Half;
    }
}

void Refuse(StatusCode code, const std::string& name, const std::string& given, const std::string& allowed) {
    doors::ThrowUnlessOk(Status{code, kFusedInferAttentionScoreV2, name, "", given, allowed, ""});
}

void RefuseAbsent(const std::string& name, const Tensor& tensor) {
    if (!tensor.defined()) {
        Refuse(StatusCode::kNullPointer, name, "None", "a tensor");
    }
}

// Refuses tensors whose elements are not in this process' memory.
void RefuseUnreadable(const std::string& name, const Tensor& tensor) {
    if (!tensor.is_cpu()) {
        Refuse(StatusCode::kInvalidParameter, name, "a tensor that is not on the CPU",
               "all tensors on the device of query");
    }
    // A storage can be resized under a tensor that keeps its shape.
    std::int64_t available = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_size(tensor.get(), &available));
    std::int64_t end = tensor.numel() == 0 ? 0 : tensor.storage_offset() + 1;
    for (std::size_t axis = 0; end > 0 && axis < tensor.sizes().size(); ++axis) {
        end += (tensor.sizes()[axis] - 1) * tensor.strides()[axis];
    }
    const std::int64_t needed = end * static_cast<std::int64_t>(tensor.element_size());
    if (available < needed) {
        Refuse(StatusCode::kInvalidParameter, name,
               "a tensor whose storage has " + std::to_string(available) + " bytes",
               "a tensor with memory for all its elements (" + std::to_string(needed) + " bytes)");
    }
}

FusedInferAttentionScoreV2Call MakeCall(const Arguments& arguments) {
    for (const auto& [name, tensor] : arguments.tensors) {
        RefuseUnreadable(name, tensor);
    }
    return FusedInferAttentionScoreV2Call(arguments.request, static_cast<int>(torch::stable::get_num_threads()));
}

Tensor NewTensor(const Arguments& arguments, const OutputSpec& spec) {
    return torch::stable::new_empty(arguments.tensors.front().second, spec.shape, ToScalarType(spec.dtype));
}

// npu_fused_infer_attention_score_v2(...) -> (Tensor attention_out, Tensor softmax_lse)
void Functional(StableIValue* stack, std::uint64_t, std::uint64_t) {
    const Arguments arguments = StackReader(stack).ReadRequest();
    Guarded([&] {
        const FusedInferAttentionScoreV2Call call = MakeCall(arguments);
        const Tensor attention_out = NewTensor(arguments, call.outputs().attention_out);
        const Tensor softmax_lse = NewTensor(arguments, call.outputs().softmax_lse);
        call.Run(attention_out.data_ptr(), softmax_lse.data_ptr(), nullptr);
        stack[0] = from(attention_out);
        stack[1] = from(softmax_lse);
    });
}

// npu_fused_infer_attention_score_v2.out(..., workspace, attention_out, softmax_lse) -> ()
void Out(StableIValue* stack, std::uint64_t, std::uint64_t) {
    StackReader reader(stack);
    const Arguments arguments = reader.ReadRequest();
    const auto workspace = reader.Read<std::optional<Tensor>>();
    const Tensor attention_out = reader.Read<Tensor>();
    const Tensor softmax_lse = reader.Read<Tensor>();
    Guarded([&] {
        const FusedInferAttentionScoreV2Call call = MakeCall(arguments);
        RefuseAbsent("attention_out", attention_out);
        RefuseAbsent("softmax_lse", softmax_lse);
        RefuseUnreadable("attention_out", attention_out);
        RefuseUnreadable("softmax_lse", softmax_lse);
        std::optional<TensorView> workspace_view;
        if (workspace.has_value()) {
            RefuseUnreadable("workspace", *workspace);
            workspace_view = ToView(*workspace);
        }
        const bool wants_lse = call.AcceptsBuffers(ToView(attention_out), ToView(softmax_lse),
                                                   workspace_view.has_value() ? &*workspace_view : nullptr);
        call.Run(attention_out.data_ptr(), wants_lse ? softmax_lse.data_ptr() : nullptr,
                 workspace.has_value() ? workspace->data_ptr() : nullptr);
    });
}

// npu_fused_infer_attention_score_v2_get_max_workspace(...) -> Tensor
void MaxWorkspace(StableIValue* stack, std::uint64_t, std::uint64_t) {
    const Arguments arguments = StackReader(stack).ReadRequest();
    Guarded([&] {
        OutputSpec bytes;
        bytes.shape = {static_cast<std::int64_t>(MakeCall(arguments).MaxWorkspaceBytes())};
        stack[0] = from(torch::stable::new_empty(arguments.tensors.front().second, bytes.shape, ScalarType::Byte));
    });
}

std::string ArgumentSchema() {
    SchemaWriter writer;
    const Request defaults;
    VisitArguments(defaults, writer);
    return writer.text();
}

}  // namespace
}  // namespace ascend_attention::torch_door

STABLE_TORCH_LIBRARY(ascend_attention, library) {
    const std::string name = ascend_attention::kFusedInferAttentionScoreV2;
    const std::string arguments = ascend_attention::torch_door::ArgumentSchema();
    library.def((name + "(" + arguments + ") -> (Tensor attention_out, Tensor softmax_lse)").c_str());
    // Returns nothing: torch.compile functionalises operators that mutate arguments, not operators that return them.
    // workspace is not marked as written: its content means nothing before the call or after it.
    library.def((name + ".out(" + arguments +
                 ", Tensor? workspace=None, Tensor(a!) attention_out, Tensor(b!) softmax_lse) -> ()")
                    .c_str());
    library.def((name + "_get_max_workspace(" + arguments + ") -> Tensor").c_str());
}

STABLE_TORCH_LIBRARY_IMPL(ascend_attention, CPU, library) {
    const std::string name = ascend_attention::kFusedInferAttentionScoreV2;
    library.impl(name.c_str(), &ascend_attention::torch_door::Functional);
    library.impl((name + ".out").c_str(), &ascend_attention::torch_door::Out);
    library.impl((name + "_get_max_workspace").c_str(), &ascend_attention::torch_door::MaxWorkspace);
}
