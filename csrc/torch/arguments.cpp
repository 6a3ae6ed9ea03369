// SPDX-License-Identifier: Apache-2.0
#include "torch/arguments.h"

#include <cstring>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "common/own_rules.h"
#include "common/text.h"
#include "doors/attention_call.h"
#include "doors/refusal.h"

namespace ascend_attention::torch_door {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

struct DTypeRow {
    ScalarType type;
    DType dtype;
    const char* name;
};

// As Python spells them, so that a refusal reads the same at every door.
constexpr DTypeRow kDTypes[] = {
    {ScalarType::Half, DType::kFloat16, "float16"},
    {ScalarType::BFloat16, DType::kBFloat16, "bfloat16"},
    {ScalarType::Float, DType::kFloat32, "float32"},
    {ScalarType::Double, DType::kFloat64, "float64"},
    {ScalarType::Char, DType::kInt8, "int8"},
    {ScalarType::Byte, DType::kUInt8, "uint8"},
    {ScalarType::Short, DType::kInt16, "int16"},
    {ScalarType::Int, DType::kInt32, "int32"},
    {ScalarType::Long, DType::kInt64, "int64"},
    {ScalarType::Bool, DType::kBool, "bool"},
    {ScalarType::UInt16, DType::kOther, "uint16"},
    {ScalarType::UInt32, DType::kOther, "uint32"},
    {ScalarType::UInt64, DType::kUInt64, "uint64"},
    {ScalarType::ComplexHalf, DType::kOther, "complex32"},
    {ScalarType::ComplexFloat, DType::kOther, "complex64"},
    {ScalarType::ComplexDouble, DType::kOther, "complex128"},
    {ScalarType::Float8_e5m2, DType::kOther, "float8_e5m2"},
    {ScalarType::Float8_e4m3fn, DType::kFloat8E4M3FN, "float8_e4m3fn"},
    {ScalarType::Float8_e5m2fnuz, DType::kOther, "float8_e5m2fnuz"},
    {ScalarType::Float8_e4m3fnuz, DType::kOther, "float8_e4m3fnuz"},
};
constexpr DTypeRow kNamelessDType = {ScalarType::Undefined, DType::kOther,
                                     "a dtype without a name in torch's stable interface"};

const DTypeRow& DTypeOf(const Tensor& tensor) {
    try {
        const ScalarType type = tensor.scalar_type();
        for (const DTypeRow& row : kDTypes) {
            if (row.type == type) {
                return row;
            }
        }
    } catch (const std::exception&) {
        // A type younger than the ABI version we target.
    }
    return kNamelessDType;
}

// (Copied byte by byte: a tensor may begin between two elements.)
template <class Element>
Lengths ElementsOf(const Tensor& tensor) {
    const auto* elements = static_cast<const char*>(tensor.const_data_ptr());
    const std::int64_t step = tensor.strides()[0] * static_cast<std::int64_t>(sizeof(Element));
    Lengths lengths(static_cast<std::size_t>(tensor.sizes()[0]));
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        Element element;
        std::memcpy(&element, elements + static_cast<std::int64_t>(i) * step, sizeof(Element));
        lengths[i] = static_cast<std::int64_t>(element);
    }
    return lengths;
}

struct LengthType {
    const char* dtype;
    Lengths (*elements)(const Tensor&);
};

constexpr LengthType kLengthTypes[] = {
    {"int64", &ElementsOf<std::int64_t>}, {"int32", &ElementsOf<std::int32_t>}, {"int16", &ElementsOf<std::int16_t>},
    {"int8", &ElementsOf<std::int8_t>},   {"uint8", &ElementsOf<std::uint8_t>},
};

struct DeleteList {
    void operator()(StableListHandle list) const { torch_delete_list(list); }
};
using OwnedList = std::unique_ptr<std::remove_pointer_t<StableListHandle>, DeleteList>;

// (Torch's own conversion makes a vector that grows as it goes, and then a copy of it.)
Lengths ReadList(StableListHandle handle) {
    const OwnedList list(handle);
    std::size_t size = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_list_size(list.get(), &size));
    Lengths lengths(size);
    for (std::size_t i = 0; i < size; ++i) {
        StableIValue length = 0;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_list_get_item(list.get(), i, &length));
        lengths[i] = static_cast<std::int64_t>(length);
    }
    return lengths;
}

// "(2, 3)". (The host's own is not among what its library offers.)
std::string SizesText(const Tensor& tensor) {
    std::string text = "(";
    for (const std::int64_t size : tensor.sizes()) {
        text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
    }
    return text + ")";
}

}  // namespace

void Refuse(const char* op, const char* rule, const std::string& name, const std::string& given,
            const std::string& allowed) {
    doors::ThrowUnlessOk(Status{StatusCode::kInvalidParameter, op, name, rule, given, allowed, ""});
}

void RefuseUnreadable(const char* op, const std::string& name, const Tensor& tensor) {
    if (!tensor.defined()) {
        doors::ThrowUnlessOk(Status{StatusCode::kNullPointer, op, name, own_rule::kTensor, "none", "a tensor", ""});
    }
    if (!tensor.is_cpu()) {
        Refuse(op, own_rule::kTensor, name, "a tensor that is not on the CPU", "all tensors on the device of query");
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
        Refuse(op, own_rule::kMemory, name, "a tensor whose storage has " + std::to_string(available) + " bytes",
               "a tensor with memory for all its elements (" + std::to_string(needed) + " bytes)");
    }
}

TensorView ToView(const Tensor& tensor) {
    const auto sizes = tensor.sizes();
    const DTypeRow& row = DTypeOf(tensor);
    return {tensor.const_data_ptr(), row.dtype, Shape(sizes.begin(), sizes.end()), tensor.is_contiguous(),
            row.dtype == DType::kOther ? row.name : ""};
}

Lengths ReadLengths(const char* op, const char* name, const Tensor& tensor) {
    RefuseUnreadable(op, name, tensor);
    if (tensor.dim() != 1) {
        Refuse(op, own_rule::kLengths, name, "shape " + SizesText(tensor), "one dimension, one length per sequence");
    }
    const std::string dtype = DTypeOf(tensor).name;
    for (const auto& [known, elements] : kLengthTypes) {
        if (dtype == known) {
            return elements(tensor);
        }
    }
    Refuse(op, own_rule::kLengths, name, dtype, "int64, int32, int16, int8 or uint8");
    return {};
}

void RequestReader::operator()(const char* name, OptionalTensor& field) {
    std::optional<Tensor> tensor;
    if (count_++ >= kPositionalArguments) {
        tensor = stack_.Read<std::optional<Tensor>>();
    } else if (IsListed(overload_, name)) {
        lists_.emplace_back(name, stack_.Read<std::vector<Tensor>>());
    } else {
        tensor = stack_.Read<Tensor>();
        if (!tensor->defined()) {  // torch lets None pass for a tensor; the host's checks do not
            tensor.reset();
        }
    }
    if (tensor.has_value()) {
        tensors_.push_back({name, std::move(*tensor), &field.emplace()});
    }
}

void RequestReader::operator()(const char* name, OptionalLengths& field) {
    if (overload_.lengths == LengthKind::kList) {
        if (const auto list = stack_.Read<std::optional<StableListHandle>>()) {
            field = ReadList(*list);
        }
    } else if (auto tensor = stack_.Read<std::optional<Tensor>>()) {
        lengths_.push_back({name, std::move(*tensor), &field});
    }
}

void RequestReader::operator()(const char* name, OptionalTensorList& field, const OptionalTensor&) {
    for (auto& [listed, tensors] : lists_) {
        if (std::strcmp(listed, name) != 0) {
            continue;
        }
        field.emplace(tensors.size());
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            tensors_.push_back({Concat(name, "[", i, "]"), std::move(tensors[i]), &(*field)[i]});
        }
    }
}

}  // namespace ascend_attention::torch_door
