// SPDX-License-Identifier: Apache-2.0
#include "doors/refusal.h"

namespace ascend_attention::doors {
namespace {

thread_local std::exception_ptr last_failure;

}  // namespace

void ThrowUnlessOk(const Status& status) {
    if (!status.ok()) {
        throw Refusal(status);
    }
}

void RememberFailure(std::exception_ptr failure) { last_failure = std::move(failure); }

void ForgetFailure() { last_failure = nullptr; }

void RethrowFailure() {
    if (last_failure != nullptr) {
        std::rethrow_exception(std::exchange(last_failure, nullptr));
    }
}

}  // namespace ascend_attention::doors
