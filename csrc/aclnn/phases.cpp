// SPDX-License-Identifier: Apache-2.0
#include "aclnn/phases.h"

#include <memory>
#include <optional>
#include <utility>

#include "aclnn/strides.h"
#include "common/own_rules.h"
#include "common/text.h"

namespace ascend_attention::aclnn {
namespace {

constexpr std::uint64_t kWorkspaceAlignment = 32;  // doors/attention_call.cpp

// Members of aclDataType that only newer runtimes name.
constexpr int kFloat8E5M2 = 35;
constexpr int kFloat8E4M3FN = 36;

const char* DTypeNameOf(aclDataType dtype) {
    switch (int(dtype)) {
        case ACL_FLOAT:
            return "float32";
        case ACL_FLOAT16:
            return "float16";
        case ACL_INT8:
            return "int8";
        case ACL_INT32:
            return "int32";
        case ACL_UINT8:
            return "uint8";
        case ACL_INT16:
            return "int16";
        case ACL_UINT16:
            return "uint16";
        case ACL_UINT32:
            return "uint32";
        case ACL_INT64:
            return "int64";
        case ACL_UINT64:
            return "uint64";
        case ACL_DOUBLE:
            return "float64";
        case ACL_BOOL:
            return "bool";
        case ACL_COMPLEX64:
            return "complex64";
        case ACL_COMPLEX128:
            return "complex128";
        case ACL_BF16:
            return "bfloat16";
        case ACL_INT4:
            return "int4";
        case kFloat8E5M2:
            return "float8_e5m2";
        case kFloat8E4M3FN:
            return "float8_e4m3fn";
        default:
            return "";
    }
}

// The name, or the number of one that has no name here.
std::string DTypeText(aclDataType dtype) {
    const std::string name = DTypeNameOf(dtype);
    return name.empty() ? Concat("aclDataType ", int(dtype)) : name;
}

// Formats that only name the axes: the elements lie as strides say. (Frameworks describe a tensor of four axes as
// NCHW.)
bool IsPlain(aclFormat format) {
    switch (format) {
        case ACL_FORMAT_ND:
        case ACL_FORMAT_NCHW:
        case ACL_FORMAT_NHWC:
        case ACL_FORMAT_HWCN:
        case ACL_FORMAT_NDHWC:
        case ACL_FORMAT_NCDHW:
        case ACL_FORMAT_NC:
        case ACL_FORMAT_NCL:
            return true;
        default:
            return false;
    }
}

}  // namespace

void Refuse(int code, const char* rule, const char* op, const std::string& argument, const std::string& given,
            const std::string& allowed, const std::string& help) {
    doors::ThrowUnlessOk({static_cast<StatusCode>(code), op, argument, rule, given, allowed, help});
    std::terminate();  // a code of 0 is no refusal
}

TensorHandle Reader::Handle(const std::string& name, const aclTensor* tensor) {
    std::optional<TensorHandle> handle = ReadTensor(tensor);
    if (!handle.has_value()) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op_, name, DescribeHandle(tensor),
               "a tensor of aclCreateTensor");
    }
    if (!IsPlain(handle->format)) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kTensor, op_, name, Concat("aclFormat ", int(handle->format)),
               "ACL_FORMAT_ND", "A format that names the axes of plain memory (NCHW and the like) is the same.");
    }
    return *std::move(handle);
}

TensorView Reader::View(const std::string& name, const aclTensor* tensor) {
    const TensorHandle handle = Handle(name, tensor);
    const bool contiguous = IsContiguous(handle);
    const std::optional<std::uint64_t> bytes = Extent(handle, aclDataTypeSize(handle.dtype));
    // A shape that no memory has is refused by the checks, which name it.
    memory_.push_back({name, handle.address, bytes.value_or(0)});
    return doors::MakeTensorView(handle.address, DTypeText(handle.dtype), handle.shape, contiguous);
}

OptionalTensor Reader::Tensor(const char* name, const aclTensor* tensor) {
    return tensor == nullptr ? OptionalTensor() : OptionalTensor(View(name, tensor));
}

OptionalTensorList Reader::List(const char* name, const aclTensorList* list) {
    if (list == nullptr) {
        return std::nullopt;
    }
    const std::optional<std::vector<const aclTensor*>> members = ReadTensorList(list);
    if (!members.has_value()) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op_, name, DescribeHandle(list),
               "a list of aclCreateTensorList");
    }
    std::vector<TensorView> views;
    for (const aclTensor* member : *members) {
        const std::string entry = members->size() == 1 ? std::string(name) : Concat(name, "[", views.size(), "]");
        views.push_back(View(entry, member));
    }
    return views;
}

OptionalLengths Reader::Lengths(const char* name, const aclIntArray* array) {
    if (array == nullptr) {
        return std::nullopt;
    }
    std::optional<std::vector<std::int64_t>> values = ReadIntArray(array);
    if (!values.has_value()) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op_, name, DescribeHandle(array),
               "an array of aclCreateIntArray");
    }
    return values;
}

Result Reader::ReadResult(const char* name, const aclTensor* tensor, bool strided, TensorView* view) {
    Result result;
    result.tensor = Handle(name, tensor);
    result.element_bytes = static_cast<std::int64_t>(aclDataTypeSize(result.tensor.dtype));
    result.contiguous = IsContiguous(result.tensor);
    const std::optional<std::uint64_t> bytes = Extent(result.tensor, static_cast<std::uint64_t>(result.element_bytes));
    memory_.push_back({name, result.tensor.address, bytes.value_or(0)});
    const bool staged = strided && !result.contiguous;
    if (staged && (!bytes.has_value() || !ElementsAreApart(result.tensor))) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kMemory, op_, name, "strides by which elements may share memory",
               "those of a slice or permutation, where each element has a place of its own");
    }
    // The kernel writes a staged result to the workspace: where the tensor itself lies does not matter to it.
    *view = doors::MakeTensorView(staged ? nullptr : result.tensor.address, DTypeText(result.tensor.dtype),
                                  result.tensor.shape, result.contiguous || staged);
    return result;
}

void Reader::NotSupported(const char* name, const void* argument, const char* help) {
    if (argument != nullptr) {
        Refuse(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, own_rule::kNotYet, op_, name, "a tensor", "nullptr", help);
    }
}

namespace {

void RequireDevice(const char* op) {
    if (!HasDevice()) {
        Refuse(ACLNN_ERR_RUNTIME_ERROR, own_rule::kDevice, op, "device", "a thread that has set none",
               "a thread that has called aclrtSetDevice or aclrtSetCurrentContext");
    }
}

}  // namespace

bool IsMissingTensor(const Status& refusal) { return refusal.code == StatusCode::kNullPointer; }

void FirstPhase(Reader* reader, doors::AnyRequest request, std::initializer_list<RequiredPointer> required,
                const ResultArguments& results) {
    const char* op = reader->op();
    std::optional<doors::AttentionCall> call;
    std::optional<doors::Refusal> refused;
    try {
        call.emplace(std::move(request), 0);
    } catch (const doors::Refusal& refusal) {
        refused = refusal;
    }
    for (const RequiredPointer& row : required) {
        if (row.pointer == nullptr) {
            if (refused.has_value() && row.before(refused->status())) {
                throw doors::Refusal(*refused);
            }
            Refuse(ACLNN_ERR_PARAM_NULLPTR, row.rule, op, row.name, "none", row.allowed);
        }
    }
    if (refused.has_value()) {
        throw doors::Refusal(*refused);
    }
    if (results.wants_lse && results.softmax_lse == nullptr) {
        call->RefuseMissingResult("softmax_lse");
    }
    TensorView out_view;
    TensorView lse_view;
    const Result out = reader->ReadResult("attention_out", results.attention_out, results.strided, &out_view);
    Result lse;
    if (results.wants_lse) {
        lse = reader->ReadResult("softmax_lse", results.softmax_lse, results.strided, &lse_view);
    }
    call->AcceptsBuffers(out_view, lse_view, nullptr);
    RequireDevice(op);
    auto execution = std::make_shared<Execution>(op, *std::move(call), out, results.wants_lse ? &lse : nullptr,
                                                 std::move(reader->memory()));
    const std::uint64_t bytes = execution->workspace_bytes();
    *results.executor = KeepExecutor(std::move(execution));
    *results.workspace_size = bytes;
}

namespace {

void CheckWorkspace(const Execution& execution, const void* workspace, std::uint64_t given) {
    const std::uint64_t needed = execution.workspace_bytes();
    const char* op = execution.op();
    const std::string allowed = Concat("at least ", needed, " bytes, as the first phase said");
    if (needed == 0) {
        return;
    }
    if (workspace == nullptr) {
        Refuse(ACLNN_ERR_PARAM_NULLPTR, own_rule::kWorkspace, op, "workspace", "nullptr", allowed);
    }
    if (given < needed) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kWorkspace, op, "workspaceSize", Concat(given), allowed);
    }
    const std::uint64_t above = reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAlignment;
    if (above != 0) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kWorkspace, op, "workspace",
               Concat("an address that is ", above, " bytes above a multiple of ", kWorkspaceAlignment),
               Concat("a multiple of ", kWorkspaceAlignment));
    }
    if (const std::optional<std::string> missing = MissingMemory(workspace, given)) {
        Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kWorkspace, op, "workspace", *missing, "device memory");
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(workspace);
    for (const NamedMemory& piece : execution.memory()) {
        const auto other = reinterpret_cast<std::uintptr_t>(piece.address);
        if (piece.bytes > 0 && begin < other + piece.bytes && other < begin + needed) {
            Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kWorkspace, op, "workspace",
                   Concat("memory that overlaps ", piece.name), "memory of its own");
        }
    }
}

void CheckTensors(const Execution& execution) {
    for (const NamedMemory& piece : execution.memory()) {
        if (piece.bytes == 0) {
            continue;
        }
        if (piece.address == nullptr) {
            Refuse(ACLNN_ERR_PARAM_NULLPTR, own_rule::kMemory, execution.op(), piece.name,
                   "a tensor without an address", "a tensor in device memory");
        }
        if (const std::optional<std::string> missing = MissingMemory(piece.address, piece.bytes)) {
            Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kMemory, execution.op(), piece.name, *missing, "device memory");
        }
    }
}

}  // namespace

aclnnStatus SecondPhase(const char* op, void* workspace, std::uint64_t workspace_size, aclOpExecutor* executor,
                        aclrtStream stream) noexcept {
    return Guarded([&] {
        if (executor == nullptr) {
            Refuse(ACLNN_ERR_PARAM_NULLPTR, own_rule::kHandle, op, "executor", "nullptr",
                   "an executor of the first phase");
        }
        const std::string allowed = "an executor of the first phase, once";
        const std::shared_ptr<Execution> execution = FindExecutor(executor);
        if (execution == nullptr) {
            Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op, "executor", DescribeHandle(executor), allowed);
        }
        if (execution->op() != op) {
            Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op, "executor",
                   Concat("an executor of ", execution->op()), allowed);
        }
        CheckWorkspace(*execution, workspace, workspace_size);
        if (execution->writes_anything()) {
            RequireDevice(op);
            if (stream == nullptr) {
                Refuse(ACLNN_ERR_PARAM_NULLPTR, own_rule::kHandle, op, "stream", "nullptr",
                       "a stream of aclrtCreateStream");
            }
            if (!IsStream(stream)) {
                Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op, "stream", DescribeHandle(stream),
                       "a stream of aclrtCreateStream");
            }
        }
        CheckTensors(*execution);
        if (UseExecutor(executor) == nullptr) {
            Refuse(ACLNN_ERR_PARAM_INVALID, own_rule::kHandle, op, "executor", DescribeHandle(executor), allowed);
        }
        if (execution->writes_anything()) {
            PutOnStream(execution, workspace, stream);
        }
    });
}

}  // namespace ascend_attention::aclnn
