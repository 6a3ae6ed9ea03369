// SPDX-License-Identifier: Apache-2.0
// From a canonical problem to the plan that the device reads.
#pragma once

#include <cstdint>
#include <string>

#include "common/soc.h"
#include "common/status.h"
#include "common/unset_vector.h"
#include "plan/attention_plan.h"
#include "plan/problem.h"

namespace ascend_attention {

struct Plan {
    std::string kernel;          // entry name: "attention_float16", "attention_wide_bfloat16", ...
    UnsetVector<uint8_t> bytes;  // AttentionPlan | SequencePlan[] | CoreRange[] | CombineTask[]
    uint32_t block_count = 0;    // AI cores to launch
    uint64_t workspace_bytes = 0;

    // Views into `bytes`.
    const AttentionPlan& header() const;
    const SequencePlan* sequences() const;
    const CoreRange* cores() const;
    const CombineTask* combine_tasks() const;
};

// Splits the work over the cores of `soc`. The problem must have at least one row; a problem that does not fit the
// engine's 32-bit plan is a 561002 with the number and its limit (561003 for too many tiles: a legal request has them).
Status MakePlan(const AttentionProblem& problem, const Soc& soc, Plan* plan);

// No plan for heads of these dims (rope included) needs more workspace on `soc`, whatever the lengths.
uint64_t MaxWorkspaceBytes(int64_t head_dim, int64_t value_head_dim, const Soc& soc);

// Readable form for people, the CLI and tests.
std::string Describe(const Plan& plan);

}  // namespace ascend_attention
