// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block_sparse_attention_v2/scene.h"
#include "plan/problem.h"

namespace ascend_attention::bsa_v2 {

// The scene has passed all checks and has something to compute.
AttentionProblem Lower(const Scene& scene);

}  // namespace ascend_attention::bsa_v2
