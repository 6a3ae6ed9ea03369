// SPDX-License-Identifier: Apache-2.0
// torch.ops.ascend_attention: schemas and CPU kernels, through torch's stable ABI only. Fake kernels are in Python.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/attention_call.h"
#include "doors/interpreter.h"
#include "doors/refusal.h"
#include "torch/arguments.h"

namespace ascend_attention::torch_door {
namespace {

using doors::AttentionCall;
using torch::stable::Tensor;
using torch::stable::detail::from;
using torch::stable::detail::StableLibrary;

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

// On the CPU, where all tensors of an accepted call are. (Torch's functions that make a tensor like another one look
// their operator up by its name, at each call.)
Tensor NewTensor(const Shape& shape, std::int32_t dtype) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;) {
        strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
    }
    AtenTensorHandle tensor = nullptr;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<std::int64_t>(shape.size()), shape.data(),
                                                           strides.data(), dtype, aoti_torch_device_type_cpu(), 0,
                                                           &tensor));
    return Tensor(tensor);
}

Tensor NewTensor(const OutputSpec& spec) {
    switch (spec.dtype) {
        case DType::kBFloat16:
            return NewTensor(spec.shape, aoti_torch_dtype_bfloat16());
        case DType::kFloat32:
            return NewTensor(spec.shape, aoti_torch_dtype_float32());
        case DType::kInt8:
            return NewTensor(spec.shape, aoti_torch_dtype_int8());
        default:
            return NewTensor(spec.shape, aoti_torch_dtype_float16());
    }
}

// A tensor for the kernel to write.
TensorView ToWritableView(const char* op, const std::string& name, const Tensor& tensor) {
    RefuseUnreadable(op, name, tensor);
    tensor.mutable_data_ptr();  // a lazy copy gets memory of its own, before the view says where it is
    return ToView(tensor);
}

void* Address(const TensorView& view) { return const_cast<void*>(view.data); }

// The kernels of one operator, on torch's stack.
template <class Request>
struct Kernels {
    // The request moves into the call; the tensors that it looks at stay in `arguments`.
    static AttentionCall MakeCall(Arguments<Request>* arguments) {
        for (const TensorArgument& argument : arguments->tensors) {
            RefuseUnreadable(Request::kOperator, argument.name, argument.tensor);
            *argument.view = ToView(argument.tensor);
        }
        for (const LengthTensor& argument : arguments->lengths) {
            *argument.lengths = ReadLengths(Request::kOperator, argument.name, argument.tensor);
        }
        return AttentionCall(std::move(arguments->request), static_cast<int>(torch::stable::get_num_threads()));
    }

    // op(...) -> (Tensor attention_out, Tensor softmax_lse), or attention_out alone
    static void Functional(const Overload& overload, StableIValue* stack) {
        Arguments<Request> arguments;
        StackReader(stack).ReadRequest(overload, &arguments);
        Guarded([&] {
            const AttentionCall call = MakeCall(&arguments);
            const Tensor attention_out = NewTensor(call.outputs().attention_out);
            if constexpr (Request::kHasLse) {
                const Tensor softmax_lse = NewTensor(call.outputs().softmax_lse);
                call.Run(attention_out.data_ptr(), softmax_lse.data_ptr(), nullptr);
                stack[1] = from(softmax_lse);
            } else {
                call.Run(attention_out.data_ptr(), nullptr, nullptr);
            }
            stack[0] = from(attention_out);
        });
    }

    // op.out(..., workspace, attention_out, softmax_lse) -> (), the last one only where the operator has it
    static void Out(const Overload& overload, StableIValue* stack) {
        Arguments<Request> arguments;
        StackReader reader(stack);
        reader.ReadRequest(overload, &arguments);
        const auto workspace = reader.Read<std::optional<Tensor>>();
        const Tensor attention_out = reader.Read<Tensor>();
        std::optional<Tensor> softmax_lse;
        if constexpr (Request::kHasLse) {
            softmax_lse = reader.Read<Tensor>();
        }
        Guarded([&] {
            const char* op = Request::kOperator;
            const AttentionCall call = MakeCall(&arguments);
            if (!attention_out.defined()) {
                call.RefuseMissingResult("attention_out");
            }
            const TensorView out = ToWritableView(op, "attention_out", attention_out);
            TensorView lse;
            if (softmax_lse.has_value()) {
                if (!softmax_lse->defined()) {
                    call.RefuseMissingResult("softmax_lse");
                }
                lse = ToWritableView(op, "softmax_lse", *softmax_lse);
            }
            TensorView scratch;
            if (workspace.has_value()) {
                scratch = ToWritableView(op, "workspace", *workspace);
            }
            const bool wants_lse = call.AcceptsBuffers(out, lse, workspace.has_value() ? &scratch : nullptr);
            call.Run(Address(out), wants_lse ? Address(lse) : nullptr, Address(scratch));
        });
    }

    // op_get_max_workspace(...) -> Tensor
    static void MaxWorkspace(const Overload& overload, StableIValue* stack) {
        Arguments<Request> arguments;
        StackReader(stack).ReadRequest(overload, &arguments);
        Guarded([&] {
            const Shape bytes = {static_cast<std::int64_t>(MakeCall(&arguments).MaxWorkspaceBytes())};
            stack[0] = from(NewTensor(bytes, aoti_torch_dtype_uint8()));
        });
    }
};

// The kernel `body` of one overload, as torch takes it.
template <std::size_t index, void (*body)(const Overload&, StableIValue*)>
void Kernel(StableIValue* stack, std::uint64_t, std::uint64_t) {
    body(kOverloads[index], stack);
}

template <class Request, std::size_t index>
void ImplementOverload(StableLibrary& library) {
    constexpr const Overload& overload = kOverloads[index];
    if constexpr (Has<Request>(overload)) {
        const std::string name = Request::kOperator;
        library.impl(Qualified(name, overload.name).c_str(), &Kernel<index, &Kernels<Request>::Functional>);
        library.impl(Qualified(name, overload.out_name).c_str(), &Kernel<index, &Kernels<Request>::Out>);
        library.impl(Qualified(name + "_get_max_workspace", overload.name).c_str(),
                     &Kernel<index, &Kernels<Request>::MaxWorkspace>);
    }
}

template <class Request, std::size_t... indices>
void ImplementOverloads(StableLibrary& library, std::index_sequence<indices...>) {
    (ImplementOverload<Request, indices>(library), ...);
}

template <class Request>
void Implement(StableLibrary& library) {
    ImplementOverloads<Request>(library, std::make_index_sequence<std::size(kOverloads)>());
}

template <class Request>
void Define(StableLibrary& library) {
    const std::string name = Request::kOperator;
    const char* results = Request::kHasLse ? "(Tensor attention_out, Tensor softmax_lse)" : "Tensor";
    const char* buffers =
        Request::kHasLse ? "Tensor(a!) attention_out, Tensor(b!) softmax_lse" : "Tensor(a!) attention_out";
    for (const Overload& overload : kOverloads) {
        if (!Has<Request>(overload)) {
            continue;
        }
        SchemaWriter writer(overload, Request::kStated);
        const Request defaults;
        VisitArguments(defaults, writer);
        const std::string arguments = "(" + writer.text();
        const auto define = [&](const std::string& schema) { library.def(schema.c_str()); };
        define(Qualified(name, overload.name) + arguments + ") -> " + results);
        // Returns nothing: torch.compile functionalises operators that mutate arguments, not operators that return
        // them. workspace is not marked as written: its content means nothing before the call or after it.
        define(Qualified(name, overload.out_name) + arguments + ", Tensor? workspace=None, " + buffers + ") -> ()");
        define(Qualified(name + "_get_max_workspace", overload.name) + arguments + ") -> Tensor");
    }
}

}  // namespace
}  // namespace ascend_attention::torch_door

STABLE_TORCH_LIBRARY(ascend_attention, library) {
    using namespace ascend_attention;
    torch_door::Define<FusedInferAttentionScoreV2Request>(library);
    torch_door::Define<PromptFlashAttentionRequest>(library);
    torch_door::Define<BlockSparseAttentionV2Request>(library);
}

STABLE_TORCH_LIBRARY_IMPL(ascend_attention, CPU, library) {
    using namespace ascend_attention;
    torch_door::Implement<FusedInferAttentionScoreV2Request>(library);
    torch_door::Implement<PromptFlashAttentionRequest>(library);
    torch_door::Implement<BlockSparseAttentionV2Request>(library);
}
