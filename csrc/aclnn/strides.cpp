// SPDX-License-Identifier: Apache-2.0
#include "aclnn/strides.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ascend_attention::aclnn {
namespace {

bool IsEmpty(const TensorHandle& tensor) {
    return std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
}

}  // namespace

bool IsContiguous(const TensorHandle& tensor) {
    if (IsEmpty(tensor)) {
        return true;
    }
    std::int64_t step = 1;
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
        if (tensor.shape[axis] != 1 && tensor.strides[axis] != step) {
            return false;
        }
        if (__builtin_mul_overflow(step, tensor.shape[axis], &step)) {
            return true;  // refused for its size
        }
    }
    return true;
}

std::optional<std::uint64_t> Extent(const TensorHandle& tensor, std::uint64_t element_bytes) {
    if (IsEmpty(tensor)) {
        return 0;
    }
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        std::int64_t step = 0;
        if (tensor.shape[axis] < 0 || (tensor.shape[axis] > 1 && tensor.strides[axis] < 0)) {
            return std::nullopt;
        }
        if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis], &step) ||
            __builtin_add_overflow(last, step, &last)) {
            return std::nullopt;
        }
    }
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(std::uint64_t(last) + 1, element_bytes, &bytes)) {
        return std::nullopt;
    }
    return bytes;
}

bool ElementsAreApart(const TensorHandle& tensor) {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        if (tensor.shape[axis] > 1) {
            axes.emplace_back(tensor.strides[axis], tensor.shape[axis]);
        }
    }
    std::sort(axes.begin(), axes.end());
    std::int64_t last = 0;  // of what the axes so far span
    for (const auto& [stride, size] : axes) {
        if (stride <= last) {
            return false;
        }
        last += stride * (size - 1);
    }
    return true;
}

}  // namespace ascend_attention::aclnn
