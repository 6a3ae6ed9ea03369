// SPDX-License-Identifier: Apache-2.0
// Which documented rules a request is held to.
#pragma once

#include "common/rule_groups.h"
#include "fused_infer_attention_score_v2/scene.h"

namespace ascend_attention::fia_v2 {

const RuleGroups<Scene>& ScopesOfRules();

}  // namespace ascend_attention::fia_v2
