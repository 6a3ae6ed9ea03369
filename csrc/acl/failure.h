// SPDX-License-Identifier: Apache-2.0
// How calls of the C interface fail: with a code, and a text that the thread can ask for.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace ascend_attention::acl {

// On its way out of a C function. `code`: an aclError or an aclnnStatus, whatever the function returns.
class Failure : public std::runtime_error {
public:
    Failure(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
    int code() const { return code_; }
    // Of work on a stream: the function that waits for it tells it, and is not at fault.
    bool belongs_to_work() const { return belongs_to_work_; }
    Failure OfWork() const {
        Failure failure = *this;
        failure.belongs_to_work_ = true;
        return failure;
    }

private:
    int code_;
    bool belongs_to_work_ = false;
};

// What aclGetRecentErrMsg gives this thread next.
void RememberText(std::string text);
// The text, which is forgotten; null when there is none.
const char* TakeText();

// Runs the body of a C function of the runtime, `function`: no exception leaves it. `body` returns nothing and throws
// Failure.
template <class Body>
int Guarded(const char* function, Body body) noexcept {
    constexpr int kBadAllocation = 200000;
    constexpr int kInternal = 500000;
    try {
        body();
        return 0;
    } catch (const Failure& failure) {
        RememberText(failure.belongs_to_work() ? failure.what() : std::string(function) + ": " + failure.what());
        return failure.code();
    } catch (const std::bad_alloc&) {
        RememberText(std::string(function) + ": out of host memory");
        return kBadAllocation;
    } catch (const std::exception& error) {
        RememberText(std::string(function) + ": internal error, please report it: " + error.what());
        return kInternal;
    }
}

// Of the C function that calls this.
template <class Body>
int Guarded(Body body, const char* function = __builtin_FUNCTION()) noexcept {
    return Guarded(function, std::move(body));
}

}  // namespace ascend_attention::acl
