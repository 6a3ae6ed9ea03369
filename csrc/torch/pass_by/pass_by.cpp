// SPDX-License-Identifier: Apache-2.0
// What _torch_derivative.py does in Python, for the calls that matter: those of which nobody can ask a derivative pass
// by its refusals.
//
// Torch's stable ABI can neither tell whether a tensor requires a gradient nor go on to the next kernel of an operator,
// and a kernel in Python costs as much as all else before a launch. So this library is built against the C++ interface
// of one torch release and loaded into that release only: its file is named after it. Under another release the Python
// kernels stand on the operators themselves.
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/library.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "torch/overloads.h"

namespace ascend_attention::torch_door {
namespace {

bool RequiresGradient(const c10::IValue& value) {
    if (value.isTensor()) {
        return value.toTensor().requires_grad();  // an undefined tensor does not
    }
    if (value.isTensorList()) {
        const auto list = value.toTensorList();
        return std::any_of(list.begin(), list.end(), [](const at::Tensor& tensor) { return tensor.requires_grad(); });
    }
    return false;
}

// Backwards, or forwards: inside torch.autograd.forward_ad.dual_level() and the transforms that use it. (Those that go
// backwards, like torch.func.grad, mark their tensors.)
bool DerivativeCanBeAskedFor(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    if (torch::autograd::ForwardADLevel::try_get_by_idx(0) != nullptr) {
        return true;
    }
    const auto arguments = static_cast<std::ptrdiff_t>(op.schema().arguments().size());  // below them: other calls'
    return c10::GradMode::is_enabled() && std::any_of(stack.end() - arguments, stack.end(), RequiresGradient);
}

void PassBy(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    if (DerivativeCanBeAskedFor(op, *stack)) {
        const std::string refusing = op.schema().name() + "_refusing_derivatives";
        c10::Dispatcher::singleton()
            .findSchemaOrThrow(refusing.c_str(), op.schema().overload_name().c_str())
            .redispatchBoxed(keys, stack);
        return;
    }
    const at::AutoDispatchBelowAutograd below;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

// Automatic differentiation counts how often a tensor was written, to tell that one which it saved is not what it was.
void CountWrites(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const auto& arguments = op.schema().arguments();
    std::vector<at::Tensor> written;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const c10::IValue& value = (*stack)[stack->size() - arguments.size() + i];
        const c10::AliasInfo* alias = arguments[i].alias_info();
        if (alias != nullptr && alias->isWrite() && value.isTensor() && value.toTensor().defined()) {
            written.push_back(value.toTensor());
        }
    }
    {
        const at::AutoDispatchBelowADInplaceOrView below;
        op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
    }
    for (const at::Tensor& tensor : written) {
        if (!tensor.is_inference()) {  // it has no count
            tensor.unsafeGetTensorImpl()->bump_version();
        }
    }
}

using BoxedKernel = void(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*);

template <BoxedKernel* kernel>
void Implement(torch::Library& library, const std::string& op, const char* overload) {
    library.impl(Qualified(op, overload).c_str(), torch::CppFunction::makeFromBoxedFunction<kernel>());
}

template <class Request>
void ImplementAutograd(torch::Library& library) {
    for (const Overload& overload : kOverloads) {
        if (Has<Request>(overload)) {
            Implement<&PassBy>(library, Request::kOperator, overload.name);
            Implement<&PassBy>(library, Request::kOperator, overload.out_name);
        }
    }
}

template <class Request>
void ImplementWrites(torch::Library& library) {
    for (const Overload& overload : kOverloads) {
        if (Has<Request>(overload)) {
            Implement<&CountWrites>(library, Request::kOperator, overload.out_name);
        }
    }
}

}  // namespace
}  // namespace ascend_attention::torch_door

TORCH_LIBRARY_IMPL(ascend_attention, Autograd, library) {
    using namespace ascend_attention;
    torch_door::ImplementAutograd<FusedInferAttentionScoreV2Request>(library);
    torch_door::ImplementAutograd<PromptFlashAttentionRequest>(library);
    torch_door::ImplementAutograd<BlockSparseAttentionV2Request>(library);
}

TORCH_LIBRARY_IMPL(ascend_attention, ADInplaceOrView, library) {
    using namespace ascend_attention;
    torch_door::ImplementWrites<FusedInferAttentionScoreV2Request>(library);
    torch_door::ImplementWrites<PromptFlashAttentionRequest>(library);
    torch_door::ImplementWrites<BlockSparseAttentionV2Request>(library);
}
