// SPDX-License-Identifier: Apache-2.0
// What the aclnn operators ask of the acl runtime that they were built for: to read handles, to keep executors, to put
// work on a stream. The handles themselves are the runtime's business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "common/tensor.h"

namespace ascend_attention::aclnn {

class Execution;

// A tensor as its caller described it.
struct TensorHandle {
    void* address = nullptr;  // of the view's first element
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_ND;
    Shape shape;
    Shape strides;  // in elements
};

// Each returns nothing for a handle that is none, or none of that kind.
std::optional<TensorHandle> ReadTensor(const aclTensor* tensor);
std::optional<std::vector<std::int64_t>> ReadIntArray(const aclIntArray* array);
std::optional<std::vector<const aclTensor*>> ReadTensorList(const aclTensorList* list);
// "a stream", "an executor that was used or destroyed": for refusals.
std::string DescribeHandle(const void* handle);

aclOpExecutor* KeepExecutor(std::shared_ptr<Execution> execution);
// Null unless the executor is one that may be used.
std::shared_ptr<Execution> FindExecutor(aclOpExecutor* executor);
// For its use: unless it is repeatable, nobody finds it afterwards. Null when another thread was faster.
std::shared_ptr<Execution> UseExecutor(aclOpExecutor* executor);

// Whether all bytes lie in device memory; else why not, for a refusal. Where the runtime cannot tell: yes.
std::optional<std::string> MissingMemory(const void* address, std::uint64_t bytes);
// Whether the calling thread has a device. One that has none is refused as 361001.
bool HasDevice();
// Whether work can be put on the stream.
bool IsStream(aclrtStream stream);
void PutOnStream(std::shared_ptr<const Execution> execution, void* workspace, aclrtStream stream);

// What aclGetRecentErrMsg gives this thread next.
void RememberText(const std::string& text);

}  // namespace ascend_attention::aclnn
