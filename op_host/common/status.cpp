// SPDX-License-Identifier: Apache-2.0
#include "common/status.h"

namespace ascend_attention {

std::string Status::Text() const {
    if (ok()) {
        return "ok";
    }
    std::string text = op + ": " + argument + ": ";
    if (code == StatusCode::kNotSupported) {
        text += "legal by the document, but not supported yet: ";
    } else if (code == StatusCode::kInternal) {
        text += "internal error, please report it: ";
    }
    text += "given " + given + "; " + (code == StatusCode::kNotSupported ? "supported so far: " : "allowed: ");
    text += allowed + " [" + (rule.empty() ? "" : rule + ", ") + "code " + std::to_string(code_number()) + "]";
    if (!help.empty()) {
        text += ". " + help;
    }
    return text;
}

}  // namespace ascend_attention
