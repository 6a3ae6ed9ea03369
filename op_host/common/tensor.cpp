// SPDX-License-Identifier: Apache-2.0
#include "common/tensor.h"

#include <limits>
#include <utility>

namespace ascend_attention {

TensorView MakeTensorView(const void* data, const std::string& dtype, Shape shape, bool contiguous) {
    const std::string name = BareDTypeName(dtype);
    return {data, DTypeFromName(name), std::move(shape), contiguous, name};
}

std::string DTypeText(const TensorView& tensor) {
    return tensor.dtype == DType::kOther && !tensor.dtype_name.empty() ? tensor.dtype_name : NameOf(tensor.dtype);
}

std::string TensorText(const OptionalTensor& tensor) {
    return tensor ? DTypeText(*tensor) + " " + ShapeText(tensor->shape) : "none";
}

std::string TensorListText(const std::vector<TensorView>& list) {
    constexpr size_t kShown = 4;
    std::string text = "a list of " + std::to_string(list.size()) + (list.size() == 1 ? " tensor: " : " tensors: ");
    for (size_t i = 0; i < list.size() && i < kShown; ++i) {
        text += (i > 0 ? ", " : "") + TensorText(list[i]);
    }
    return list.size() > kShown ? text + ", ..." : text;
}

int64_t NumElements(const Shape& shape) {
    int64_t count = 1;
    for (const int64_t dim : shape) {
        if (dim == 0) {
            return 0;
        }
    }
    for (const int64_t dim : shape) {
        if (__builtin_mul_overflow(count, dim, &count)) {
            return std::numeric_limits<int64_t>::max();
        }
    }
    return count;
}

std::string ShapeText(const Shape& shape) {
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    }
    return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace ascend_attention
