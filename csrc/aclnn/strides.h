// SPDX-License-Identifier: Apache-2.0
// Where the elements of a tensor lie, as its caller's shape and strides say: either may be anything. The stride of an
// axis of one element says nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "aclnn/runtime.h"

namespace ascend_attention::aclnn {

bool IsContiguous(const TensorHandle& tensor);

// Bytes from the first element to the end of the last one; nothing for a shape or strides that no memory has.
std::optional<std::uint64_t> Extent(const TensorHandle& tensor, std::uint64_t element_bytes);

// Whether each element has a place of its own, for a tensor that has an extent. Every slice and permutation of a
// contiguous tensor does; of other strides those that fit into each other's gaps are not told from those that meet.
bool ElementsAreApart(const TensorHandle& tensor);

}  // namespace ascend_attention::aclnn
