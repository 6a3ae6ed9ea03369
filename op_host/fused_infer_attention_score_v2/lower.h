// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fused_infer_attention_score_v2/scene.h"
#include "plan/dense.h"
#include "plan/problem.h"

namespace ascend_attention::fia_v2 {

BandArguments BandArgumentsOf(const Request& request);

// The canonical problem of a checked and supported request.
AttentionProblem Lower(const Scene& scene);

}  // namespace ascend_attention::fia_v2
