// SPDX-License-Identifier: Apache-2.0
#include "torch/arguments.h"

#include <exception>

#include "doors/attention_call.h"

namespace ascend_attention::torch_door {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

struct DTypeRow {
    ScalarType type;
    const char* name;
};

// As Python spells them, so that a refusal reads the same at every door.
constexpr DTypeRow kDTypes[] = {
    {ScalarType::Half, "float16"},
    {ScalarType::BFloat16, "bfloat16"},
    {ScalarType::Float, "float32"},
    {ScalarType::Double, "float64"},
    {ScalarType::Char, "int8"},
    {ScalarType::Byte, "uint8"},
    {ScalarType::Short, "int16"},
    {ScalarType::Int, "int32"},
    {ScalarType::Long, "int64"},
    {ScalarType::Bool, "bool"},
    {ScalarType::UInt16, "uint16"},
    {ScalarType::UInt32, "uint32"},
    {ScalarType::UInt64, "uint64"},
    {ScalarType::ComplexHalf, "complex32"},
    {ScalarType::ComplexFloat, "complex64"},
    {ScalarType::ComplexDouble, "complex128"},
    {ScalarType::Float8_e5m2, "float8_e5m2"},
    {ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
    {ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz"},
    {ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz"},
};

std::string DTypeNameOf(const Tensor& tensor) {
    try {
        const ScalarType type = tensor.scalar_type();
        for (const DTypeRow& row : kDTypes) {
            if (row.type == type) {
                return row.name;
            }
        }
    } catch (const std::exception&) {
        // A type younger than the ABI version we target.
    }
    return "a dtype without a name in torch's stable interface";
}

}  // namespace

TensorView ToView(const Tensor& tensor) {
    // Only memory of this process can be read; the caller refuses the others by name.
    const void* data = tensor.is_cpu() ? tensor.data_ptr() : nullptr;
    Shape shape(tensor.sizes().begin(), tensor.sizes().end());
    return doors::MakeTensorView(data, DTypeNameOf(tensor), std::move(shape), tensor.is_contiguous());
}

void RequestReader::operator()(const char* name, OptionalTensor& field) {
    std::optional<Tensor> tensor;
    if (count_++ < kPositionalArguments) {
        tensor = stack_.Read<Tensor>();
        if (!tensor->defined()) {  // torch lets None pass for a tensor; the host's checks do not
            tensor.reset();
        }
    } else {
        tensor = stack_.Read<std::optional<Tensor>>();
    }
    if (tensor.has_value()) {
        field = ToView(*tensor);
        tensors_.emplace_back(name, std::move(*tensor));
    }
}

}  // namespace ascend_attention::torch_door
