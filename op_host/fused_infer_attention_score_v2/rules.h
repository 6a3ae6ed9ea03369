// SPDX-License-Identifier: Apache-2.0
// Which documented rules a request is held to: one table, for texts about a request. The rules themselves are in
// check_*.cpp, each with its number beside it.
#pragma once

#include <string>
#include <vector>

#include "fused_infer_attention_score_v2/scene.h"

namespace ascend_attention::fia_v2 {

struct RuleGroup {
    std::string rules;  // "FIA-C14 to C16, C18"
    std::string about;
    std::vector<int> numbers;  // of the rules FIA-C...
    bool (*applies)(const Scene& scene);
};

// In the order of the catalogue. `applies` looks at sizes that the sections before have read.
const std::vector<RuleGroup>& RuleGroups();

}  // namespace ascend_attention::fia_v2
