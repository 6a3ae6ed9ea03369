// SPDX-License-Identifier: Apache-2.0
// A Status on its way to the caller. what() is the Status' text, so that every door says the same words.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/status.h"
#include "doors/export.h"

namespace ascend_attention::doors {

class ASCEND_ATTENTION_API Refusal : public std::runtime_error {
public:
    explicit Refusal(Status status) : std::runtime_error(status.Text()), status_(std::move(status)) {}
    const Status& status() const { return status_; }

private:
    Status status_;
};

// Throws Refusal unless the status is ok. (Not inline: Status::Text() stays inside libascend_attention.so.)
ASCEND_ATTENTION_API void ThrowUnlessOk(const Status& status);

// Torch turns every C++ exception of a kernel into a RuntimeError and drops what it carries. The torch door leaves the
// original here, per thread, and the package functions fetch it to raise AttentionError or SimulatorError.
ASCEND_ATTENTION_API void RememberFailure(std::exception_ptr failure);
ASCEND_ATTENTION_API void ForgetFailure();
// Throws the remembered failure and forgets it; returns when there is none.
ASCEND_ATTENTION_API void RethrowFailure();

}  // namespace ascend_attention::doors
