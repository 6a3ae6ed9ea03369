// SPDX-License-Identifier: Apache-2.0
#include "acl/failure.h"

#include <optional>

namespace ascend_attention::acl {
namespace {

thread_local std::optional<std::string> last_text;
thread_local std::string handed_out;  // what the last TakeText() points at

}  // namespace

void RememberText(std::string text) { last_text = std::move(text); }

const char* TakeText() {
    if (!last_text.has_value()) {
        return nullptr;
    }
    handed_out = *std::move(last_text);
    last_text.reset();
    return handed_out.c_str();
}

}  // namespace ascend_attention::acl
