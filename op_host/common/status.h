// SPDX-License-Identifier: Apache-2.0
// What every refusal looks like, whichever door the request came through (Python, torch.ops, C).
#pragma once

#include <cstdint>
#include <string>

namespace ascend_attention {

enum class StatusCode : int32_t {
    kOk = 0,
    kNullPointer = 161001,       // a required tensor is missing
    kInvalidParameter = 161002,  // refused by a documented rule
    kInternal = 561002,          // a bug of ours: no plan for an accepted request
    kNotSupported = 561003,      // legal by the document, not built yet
};

struct [[nodiscard]] Status {
    StatusCode code = StatusCode::kOk;
    std::string op;        // operator, e.g. "npu_fused_infer_attention_score_v2"
    std::string argument;  // the document's spelling, e.g. "atten_mask"
    std::string rule;      // row of the constraint catalogue, e.g. "FIA-C30"
    std::string given;
    std::string allowed;
    std::string help;  // what to do about it; may be empty

    bool ok() const { return code == StatusCode::kOk; }
    int32_t code_number() const { return static_cast<int32_t>(code); }
    // "operator: argument: given ...; allowed: ... [rule, code 161002]. help"
    std::string Text() const;
};

inline Status OkStatus() { return {}; }

// One more sentence at the end of the help.
void AddHelp(const std::string& sentence, Status* status);

// 161002: refused by a rule.
Status Refusal(const char* op, const char* rule, const std::string& argument, const std::string& given,
               const std::string& allowed, const std::string& help = "");
// 161001: a required tensor was not given.
Status MissingTensor(const char* op, const char* rule, const std::string& argument, const std::string& help);
// 561003: legal by the document, not built yet. Names the golden function, which computes every legal call.
Status NotSupportedYet(const char* op, const std::string& argument, const std::string& given,
                       const std::string& supported);

}  // namespace ascend_attention
