// SPDX-License-Identifier: Apache-2.0
// What the handles of aclnn/acl_meta.h stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "acl/handles.h"
#include "aclnn/acl_meta.h"

namespace ascend_attention::acl {

struct Tensor {
    void* address = nullptr;  // of the storage; the view begins `offset` elements later
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_ND;
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  // in elements
    std::vector<std::int64_t> storage;
};

struct Scalar {
    std::vector<unsigned char> bytes;
    aclDataType dtype = ACL_DT_UNDEFINED;
};

template <class Value>
using Array = std::vector<Value>;
using IntArray = Array<std::int64_t>;
using FloatArray = Array<float>;
using BoolArray = Array<unsigned char>;

// Handles of the members, which the list owns.
using List = std::vector<const void*>;

}  // namespace ascend_attention::acl
