// SPDX-License-Identifier: Apache-2.0
#include "torch/arguments.h"

#include <exception>

namespace ascend_attention::torch_door {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Visitor that fills a request from the stack.
class RequestReader {
public:
    RequestReader(StackReader& stack, Arguments& arguments) : stack_(stack), arguments_(arguments) {}

    void operator()(const char* name, Request::OptionalTensor& field) {
        std::optional<Tensor> tensor;
        if (count_++ < kPositionalArguments) {
            tensor = stack_.Read<Tensor>();
        } else {
            tensor = stack_.Read<std::optional<Tensor>>();
        }
        if (tensor.has_value()) {
            field = ToView(*tensor);
            arguments_.tensors.emplace_back(name, std::move(*tensor));
        }
    }
    void operator()(const char*, Request::OptionalLengths& field) {
        field = stack_.Read<std::optional<std::vector<std::int64_t>>>();
    }
    template <class Field>
    void operator()(const char*, Field& field) {
        field = stack_.Read<Field>();
    }

private:
    StackReader& stack_;
    Arguments& arguments_;
    int count_ = 0;
};

}  // namespace

DType ToDType(const Tensor& tensor) {
    ScalarType type;
    try {
        type = tensor.scalar_type();
    } catch (const std::exception&) {
        return DType::kOther;  // a type younger than the ABI version we target
    }
    switch (type) {
        case ScalarType::Half:
            return DType::kFloat16;
        case ScalarType::BFloat16:
            return DType::kBFloat16;
        case ScalarType::Float:
            return DType::kFloat32;
        case ScalarType::Double:
            return DType::kFloat64;
        case ScalarType::Char:
            return DType::kInt8;
        case ScalarType::Byte:
            return DType::kUInt8;
        case ScalarType::Short:
            return DType::kInt16;
        case ScalarType::Int:
            return DType::kInt32;
        case ScalarType::Long:
            return DType::kInt64;
        case ScalarType::Bool:
            return DType::kBool;
        default:
            return DType::kOther;
    }
}

TensorView ToView(const Tensor& tensor) {
    TensorView view;
    // Only memory of this process can be read; the caller refuses the others by name.
    view.data = tensor.is_cpu() ? tensor.data_ptr() : nullptr;
    view.dtype = ToDType(tensor);
    view.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    view.contiguous = tensor.is_contiguous();
    return view;
}

Arguments StackReader::ReadRequest() {
    Arguments arguments;
    doors::VisitArguments(arguments.request, RequestReader(*this, arguments));
    return arguments;
}

}  // namespace ascend_attention::torch_door
