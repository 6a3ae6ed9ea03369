// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fused_infer_attention_score_v2/scene.h"
#include "plan/problem.h"

namespace ascend_attention::fia_v2 {

// Keys [low, high] that position 0 sees, in the terms of FIA-V5 and V6; position i sees them shifted by i.
struct Band {
    int64_t low = kBandOpenLow;
    int64_t high = kBandOpenHigh;
};
Band BandOf(const Request& request, int64_t query_length, int64_t key_length);

// The canonical problem of a checked and supported request. Sequences without rows are left out; rows at or beyond
// actual_seq_qlen become sequences without keys.
AttentionProblem Lower(const Scene& scene);
// Is the content of atten_mask read? (The compressed masks of sparse_mode 2, 3 and 4 are a promise about positions.)
bool ReadsMask(const Scene& scene);

}  // namespace ascend_attention::fia_v2
