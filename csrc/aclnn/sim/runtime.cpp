// SPDX-License-Identifier: Apache-2.0
// The acl runtime over the simulator (csrc/acl), for the operators.
#include <utility>

#include "acl/device.h"
#include "acl/failure.h"
#include "acl/handles.h"
#include "acl/memory.h"
#include "acl/objects.h"
#include "aclnn/execution.h"
#include "aclnn/opdev/op_errno.h"
#include "common/text.h"
#include "run/launch.h"

namespace ascend_attention::aclnn {

std::optional<TensorHandle> ReadTensor(const aclTensor* tensor) {
    const std::shared_ptr<acl::Tensor> found = acl::Find<acl::Tensor>(acl::Kind::kTensor, tensor);
    if (found == nullptr) {
        return std::nullopt;
    }
    TensorHandle handle;
    handle.address = found->address;
    if (found->address != nullptr) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(found->offset) * aclDataTypeSize(found->dtype);
        handle.address = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(found->address) + bytes);
    }
    handle.dtype = found->dtype;
    handle.format = found->format;
    handle.shape = found->shape;
    handle.strides = found->strides;
    return handle;
}

std::optional<std::vector<std::int64_t>> ReadIntArray(const aclIntArray* array) {
    const std::shared_ptr<acl::IntArray> found = acl::Find<acl::IntArray>(acl::Kind::kIntArray, array);
    return found == nullptr ? std::nullopt : std::optional<std::vector<std::int64_t>>(*found);
}

std::optional<std::vector<const aclTensor*>> ReadTensorList(const aclTensorList* list) {
    const std::shared_ptr<acl::List> found = acl::Find<acl::List>(acl::Kind::kTensorList, list);
    if (found == nullptr) {
        return std::nullopt;
    }
    std::vector<const aclTensor*> members;
    for (const void* entry : *found) {
        members.push_back(static_cast<const aclTensor*>(entry));
    }
    return members;
}

std::string DescribeHandle(const void* handle) { return acl::DescribeHandle(handle); }

aclOpExecutor* KeepExecutor(std::shared_ptr<Execution> execution) {
    return static_cast<aclOpExecutor*>(acl::AddHandle(acl::Kind::kExecutor, std::move(execution)));
}

std::shared_ptr<Execution> FindExecutor(aclOpExecutor* executor) {
    return acl::Find<Execution>(acl::Kind::kExecutor, executor);
}

std::shared_ptr<Execution> UseExecutor(aclOpExecutor* executor) {
    const std::shared_ptr<Execution> found = FindExecutor(executor);
    return found == nullptr || found->repeatable() ? found : acl::Take<Execution>(acl::Kind::kExecutor, executor);
}

std::optional<std::string> MissingMemory(const void* address, std::uint64_t bytes) {
    if (acl::FindDeviceMemory(address, bytes) != nullptr) {
        return std::nullopt;
    }
    return acl::DescribeMissing(address, bytes);
}

bool HasDevice() {
    try {
        acl::CurrentContext();
        return true;
    } catch (const acl::Failure&) {
        return false;
    }
}

bool IsStream(aclrtStream stream) { return acl::FindHandle(acl::Kind::kStream, stream) != nullptr; }

namespace {

// Keeps all memory in being while the kernel runs; what has gone since the second phase is told.
std::vector<acl::Pin> PinAll(const Execution& execution, void* workspace) {
    std::vector<NamedMemory> pieces = execution.memory();
    pieces.push_back({"workspace", workspace, execution.workspace_bytes()});
    std::vector<acl::Pin> pins;
    for (const NamedMemory& piece : pieces) {
        if (piece.bytes == 0) {
            continue;
        }
        pins.push_back(acl::FindDeviceMemory(piece.address, piece.bytes));
        if (pins.back() == nullptr) {
            throw acl::Failure(
                ACL_ERROR_RT_PARAM_INVALID,
                Concat(execution.op(), ": ", piece.name, ": ", acl::DescribeMissing(piece.address, piece.bytes),
                       ": it was freed before the stream came to the operator"));
        }
    }
    return pins;
}

}  // namespace

void PutOnStream(std::shared_ptr<const Execution> execution, void* workspace, aclrtStream stream) {
    acl::Stream::Enqueue(acl::StreamOf(stream), [execution = std::move(execution), workspace] {
        const std::vector<acl::Pin> pins = PinAll(*execution, workspace);
        try {
            execution->Run(workspace);
        } catch (const sim::SimulatorFailure& failure) {
            throw acl::Failure(ACL_ERROR_RT_AICORE_EXCEPTION, Concat(execution->op(), ": ", failure.what()));
        }
    });
}

void RememberText(const std::string& text) { acl::RememberText(text); }

}  // namespace ascend_attention::aclnn

using namespace ascend_attention;

namespace {

// `destroyed`: whether the executor is one no more afterwards.
aclnnStatus WithExecutor(aclOpExecutor* executor, bool destroyed, const char* function = __builtin_FUNCTION()) {
    return acl::Guarded(function, [&] {
        if (executor == nullptr) {
            throw acl::Failure(ACLNN_ERR_INNER_NULLPTR, "executor: given nullptr; allowed: an executor");
        }
        const std::shared_ptr<aclnn::Execution> execution =
            destroyed ? acl::Take<aclnn::Execution>(acl::Kind::kExecutor, executor) : aclnn::FindExecutor(executor);
        if (execution == nullptr) {
            throw acl::Failure(ACLNN_ERR_PARAM_INVALID,
                               Concat("executor: given ", acl::DescribeHandle(executor), "; allowed: an executor"));
        }
        if (!destroyed) {
            execution->MakeRepeatable();
        }
    });
}

}  // namespace

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) { return WithExecutor(executor, false); }
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) { return WithExecutor(executor, true); }
