// SPDX-License-Identifier: Apache-2.0
#include "common/status.h"

#include "common/own_rules.h"

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

void AddHelp(const std::string& sentence, Status* status) {
    status->help += (status->help.empty() ? "" : " ") + sentence;
}

Status Refusal(const char* op, const char* rule, const std::string& argument, const std::string& given,
               const std::string& allowed, const std::string& help) {
    return {StatusCode::kInvalidParameter, op, argument, rule, given, allowed, help};
}

Status MissingTensor(const char* op, const char* rule, const std::string& argument, const std::string& help) {
    return {StatusCode::kNullPointer, op, argument, rule, "none", "a tensor", help};
}

Status NotSupportedYet(const char* op, const std::string& argument, const std::string& given,
                       const std::string& supported) {
    const std::string name = op;
    const std::string golden = name.rfind("npu_", 0) == 0 ? name.substr(4) : name;
    return {StatusCode::kNotSupported,
            op,
            argument,
            own_rule::kNotYet,
            given,
            supported,
            "ascend_attention.golden." + golden + " computes it."};
}

}  // namespace ascend_attention
