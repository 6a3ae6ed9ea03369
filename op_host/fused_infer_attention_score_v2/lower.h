// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fused_infer_attention_score_v2/scene.h"
#include "plan/lowering.h"
#include "plan/prepared.h"
#include "plan/problem.h"

namespace ascend_attention::fia_v2 {

// One query row without rope sees every key, whatever sparse_mode says.
bool OneFreeRow(const Scene& scene);
BandArguments BandArgumentsOf(const Scene& scene);

// The canonical problem of a checked and supported request.
AttentionProblem Lower(const Scene& scene);

// Where the key heads lie in each tensor of a list, for the lists of addresses that the kernel is given; empty without
// lists.
AddressList ListAddresses(const Scene& scene);

}  // namespace ascend_attention::fia_v2
