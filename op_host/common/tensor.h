// SPDX-License-Identifier: Apache-2.0
// A tensor as the host sees it: where it is, what it holds, its shape. Never owns memory, never reads the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/dtype.h"

namespace ascend_attention {

using Shape = std::vector<int64_t>;

struct TensorView {
    const void* data = nullptr;  // may be null: checks, inference and planning look at the shape only
    DType dtype = DType::kOther;
    Shape shape;
    bool contiguous = true;
    std::string dtype_name;  // the caller's word for the dtype; needed for kOther only
};

using OptionalTensor = std::optional<TensorView>;
using OptionalTensorList = std::optional<std::vector<TensorView>>;

// A view of a tensor whose dtype the caller knows by name ("float16", "torch.float16").
TensorView MakeTensorView(const void* data, const std::string& dtype, Shape shape, bool contiguous);
// The dtype for a refusal: never just "other" when the caller gave it a name.
std::string DTypeText(const TensorView& tensor);
// "float16 (2, 3)" or "none".
std::string TensorText(const OptionalTensor& tensor);
// "a list of 2 tensors: float16 (1, 3), float16 (1, 4)"; of a long list the first ones.
std::string TensorListText(const std::vector<TensorView>& list);

// Elements of a shape; saturates at INT64_MAX instead of overflowing.
int64_t NumElements(const Shape& shape);
// "(2, 3, 4)", "(5,)", "()".
std::string ShapeText(const Shape& shape);

}  // namespace ascend_attention
