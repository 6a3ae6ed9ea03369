// SPDX-License-Identifier: Apache-2.0
// torch.ops.ascend_attention: schemas and CPU kernels, through torch's stable ABI only. Fake kernels are in Python.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "doors/attention_call.h"
#include "doors/interpreter.h"
#include "doors/refusal.h"
#include "torch/arguments.h"

namespace ascend_attention::torch_door {
namespace {

using doors::AttentionCall;
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

void Refuse(const char* op, StatusCode code, const std::string& name, const std::string& given,
            const std::string& allowed) {
    doors::ThrowUnlessOk(Status{code, op, name, "", given, allowed, ""});
}

void RefuseAbsent(const char* op, const std::string& name, const Tensor& tensor) {
    if (!tensor.defined()) {
        Refuse(op, StatusCode::kNullPointer, name, "None", "a tensor");
    }
}

// Refuses tensors whose elements are not in this process' memory.
void RefuseUnreadable(const char* op, const std::string& name, const Tensor& tensor) {
    if (!tensor.is_cpu()) {
        Refuse(op, StatusCode::kInvalidParameter, name, "a tensor that is not on the CPU",
               "all tensors on the device of query");
    }
    // A storage can be resized under a tensor that keeps its shape.
    std::int64_t available = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_size(tensor.get(), &available));
    const auto sizes = tensor.sizes();
    const auto strides = tensor.strides();
    std::int64_t end = tensor.numel() == 0 ? 0 : tensor.storage_offset() + 1;
    for (std::size_t axis = 0; end > 0 && axis < sizes.size(); ++axis) {
        end += (sizes[axis] - 1) * strides[axis];
    }
    const std::int64_t needed = end * static_cast<std::int64_t>(tensor.element_size());
    if (available < needed) {
        Refuse(op, StatusCode::kInvalidParameter, name,
               "a tensor whose storage has " + std::to_string(available) + " bytes",
               "a tensor with memory for all its elements (" + std::to_string(needed) + " bytes)");
    }
}

// The kernels of one operator, on torch's stack.
template <class Request>
struct Kernels {
    // The request moves into the call; the tensors that it looks at stay in `arguments`.
    static AttentionCall MakeCall(Arguments<Request>& arguments) {
        for (const auto& [name, tensor] : arguments.tensors) {
            RefuseUnreadable(Request::kOperator, name, tensor);
        }
        return AttentionCall(std::move(arguments.request), static_cast<int>(torch::stable::get_num_threads()));
    }

    static Tensor NewTensor(const Arguments<Request>& arguments, const OutputSpec& spec) {
        return torch::stable::new_empty(arguments.tensors.front().second, spec.shape, ToScalarType(spec.dtype));
    }

    // op(...) -> (Tensor attention_out, Tensor softmax_lse), or attention_out alone
    static void Functional(StableIValue* stack, std::uint64_t, std::uint64_t) {
        auto arguments = StackReader(stack).ReadRequest<Request>();
        Guarded([&] {
            const AttentionCall call = MakeCall(arguments);
            const Tensor attention_out = NewTensor(arguments, call.outputs().attention_out);
            if constexpr (Request::kHasLse) {
                const Tensor softmax_lse = NewTensor(arguments, call.outputs().softmax_lse);
                call.Run(attention_out.data_ptr(), softmax_lse.data_ptr(), nullptr);
                stack[1] = from(softmax_lse);
            } else {
                call.Run(attention_out.data_ptr(), nullptr, nullptr);
            }
            stack[0] = from(attention_out);
        });
    }

    // op.out(..., workspace, attention_out, softmax_lse) -> (), the last one only where the operator has it
    static void Out(StableIValue* stack, std::uint64_t, std::uint64_t) {
        StackReader reader(stack);
        auto arguments = reader.ReadRequest<Request>();
        const auto workspace = reader.Read<std::optional<Tensor>>();
        const Tensor attention_out = reader.Read<Tensor>();
        std::optional<Tensor> softmax_lse;
        if constexpr (Request::kHasLse) {
            softmax_lse = reader.Read<Tensor>();
        }
        Guarded([&] {
            const char* op = Request::kOperator;
            const AttentionCall call = MakeCall(arguments);
            RefuseAbsent(op, "attention_out", attention_out);
            TensorView lse_view;
            if (softmax_lse.has_value()) {
                RefuseAbsent(op, "softmax_lse", *softmax_lse);
            }
            RefuseUnreadable(op, "attention_out", attention_out);
            if (softmax_lse.has_value()) {
                RefuseUnreadable(op, "softmax_lse", *softmax_lse);
                lse_view = ToView(*softmax_lse);
            }
            std::optional<TensorView> workspace_view;
            if (workspace.has_value()) {
                RefuseUnreadable(op, "workspace", *workspace);
                workspace_view = ToView(*workspace);
            }
            const bool wants_lse = call.AcceptsBuffers(ToView(attention_out), lse_view,
                                                       workspace_view.has_value() ? &*workspace_view : nullptr);
            call.Run(attention_out.data_ptr(), wants_lse ? softmax_lse->data_ptr() : nullptr,
                     workspace.has_value() ? workspace->data_ptr() : nullptr);
        });
    }

    // op_get_max_workspace(...) -> Tensor
    static void MaxWorkspace(StableIValue* stack, std::uint64_t, std::uint64_t) {
        auto arguments = StackReader(stack).ReadRequest<Request>();
        Guarded([&] {
            OutputSpec bytes;
            bytes.shape = {static_cast<std::int64_t>(MakeCall(arguments).MaxWorkspaceBytes())};
            stack[0] = from(torch::stable::new_empty(arguments.tensors.front().second, bytes.shape, ScalarType::Byte));
        });
    }

    template <class Library>
    static void Define(Library& library) {
        // First those with symbols: a packet takes the first overload that fits, and int[] would make a constant of a
        // symbol. The others are for calls that cannot hold one, and are named by the caller.
        DefineOverloads(library, kSymbolicLengths, "", ".out");
        DefineOverloads(library, kPlainLengths, ".ints", ".out_ints");
    }

    template <class Library>
    static void Implement(Library& library) {
        const std::string name = Request::kOperator;
        for (const char* overload : {"", ".ints"}) {
            library.impl((name + overload).c_str(), &Functional);
            library.impl((name + "_get_max_workspace" + overload).c_str(), &MaxWorkspace);
        }
        for (const char* overload : {".out", ".out_ints"}) {
            library.impl((name + overload).c_str(), &Out);
        }
    }

private:
    template <class Library>
    static void DefineOverloads(Library& library, const char* lengths, const char* functional, const char* out) {
        const std::string name = Request::kOperator;
        SchemaWriter writer(lengths, Request::kStated);
        const Request defaults;
        VisitArguments(defaults, writer);
        const std::string& arguments = writer.text();
        const char* results = Request::kHasLse ? "(Tensor attention_out, Tensor softmax_lse)" : "Tensor";
        const char* buffers =
            Request::kHasLse ? "Tensor(a!) attention_out, Tensor(b!) softmax_lse" : "Tensor(a!) attention_out";
        library.def((name + functional + "(" + arguments + ") -> " + results).c_str());
        // Returns nothing: torch.compile functionalises operators that mutate arguments, not operators that return
        // them. workspace is not marked as written: its content means nothing before the call or after it.
        library.def((name + out + "(" + arguments + ", Tensor? workspace=None, " + buffers + ") -> ()").c_str());
        library.def((name + "_get_max_workspace" + functional + "(" + arguments + ") -> Tensor").c_str());
    }
};

using FusedInferAttentionScoreV2 = Kernels<FusedInferAttentionScoreV2Request>;
using PromptFlashAttention = Kernels<PromptFlashAttentionRequest>;
using BlockSparseAttentionV2 = Kernels<BlockSparseAttentionV2Request>;

}  // namespace
}  // namespace ascend_attention::torch_door

STABLE_TORCH_LIBRARY(ascend_attention, library) {
    ascend_attention::torch_door::FusedInferAttentionScoreV2::Define(library);
    ascend_attention::torch_door::PromptFlashAttention::Define(library);
    ascend_attention::torch_door::BlockSparseAttentionV2::Define(library);
}

STABLE_TORCH_LIBRARY_IMPL(ascend_attention, CPU, library) {
    ascend_attention::torch_door::FusedInferAttentionScoreV2::Implement(library);
    ascend_attention::torch_door::PromptFlashAttention::Implement(library);
    ascend_attention::torch_door::BlockSparseAttentionV2::Implement(library);
}
