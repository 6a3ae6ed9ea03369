// SPDX-License-Identifier: Apache-2.0
// What all aclnn operators have in common: handles become a request, the request a plan, the plan work on a stream.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

#include "aclnn/execution.h"
#include "aclnn/opdev/op_errno.h"
#include "common/lengths.h"
#include "doors/attention_call.h"
#include "doors/refusal.h"

namespace ascend_attention::aclnn {

// Throws doors::Refusal, with the text that every door gives.
[[noreturn]] void Refuse(int code, const char* rule, const char* op, const std::string& argument,
                         const std::string& given, const std::string& allowed, const std::string& help = "");

// Runs the body of a C function: no exception leaves it.
template <class Body>
aclnnStatus Guarded(Body body) noexcept {
    try {
        body();
        return ACLNN_SUCCESS;
    } catch (const doors::Refusal& refusal) {
        RememberText(refusal.what());
        return refusal.status().code_number();
    } catch (const std::bad_alloc&) {
        RememberText("out of host memory");
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    } catch (const std::exception& error) {
        RememberText(std::string("internal error, please report it: ") + error.what());
        return ACLNN_ERR_INNER;
    }
}

// Reads the arguments of one call.
class Reader {
public:
    explicit Reader(const char* op) : op_(op) {}

    OptionalTensor Tensor(const char* name, const aclTensor* tensor);
    OptionalTensorList List(const char* name, const aclTensorList* list);
    OptionalLengths Lengths(const char* name, const aclIntArray* array);
    // A result, and how the checks are to see it: whether it is contiguous matters only where `strided` is false.
    Result ReadResult(const char* name, const aclTensor* tensor, bool strided, TensorView* view);
    // 561003 when it is given: the document has the argument, this library does not yet.
    void NotSupported(const char* name, const void* argument, const char* help = "");

    const char* op() const { return op_; }
    // Of all tensors that were read.
    std::vector<NamedMemory>& memory() { return memory_; }

private:
    TensorHandle Handle(const std::string& name, const aclTensor* tensor);
    TensorView View(const std::string& name, const aclTensor* tensor);

    const char* op_;
    std::vector<NamedMemory> memory_;
};

// An argument that must not be null, the rule that says so, and when its turn comes: `before` tells of a refusal
// whether it is of a check that the document puts before this one.
struct RequiredPointer {
    const char* name;
    const void* pointer;
    const char* rule;
    const char* allowed;
    bool (*before)(const Status& refusal);
};

// Refused because a required tensor is missing.
bool IsMissingTensor(const Status& refusal);

struct ResultArguments {
    const aclTensor* attention_out;
    const aclTensor* softmax_lse;  // null for an operator without it
    bool wants_lse;
    bool strided;  // whether results may be strided
    std::uint64_t* workspace_size;
    aclOpExecutor** executor;
};

// Everything that a first phase does with a request that was read.
void FirstPhase(Reader* reader, doors::AnyRequest request, std::initializer_list<RequiredPointer> required,
                const ResultArguments& results);

aclnnStatus SecondPhase(const char* op, void* workspace, std::uint64_t workspace_size, aclOpExecutor* executor,
                        aclrtStream stream) noexcept;

}  // namespace ascend_attention::aclnn
