// SPDX-License-Identifier: Apache-2.0
// Dense keys and values in one of the layouts with a batch axis: the calls that several operators share, in their terms
// (layout, lengths, sparse_mode), and how they become an AttentionProblem.
#pragma once

#include <cstdint>

#include "common/layout.h"
#include "common/lengths.h"
#include "common/tensor.h"
#include "plan/problem.h"

namespace ascend_attention {

// Keys [low, high] that position 0 sees, in the terms of sparse_mode; position i sees them shifted by i.
struct Band {
    int64_t low = kBandOpenLow;
    int64_t high = kBandOpenHigh;
};
struct BandArguments {
    bool mask = false;  // is there one?
    int64_t sparse_mode = 0;
    int64_t pre_tokens = 0;
    int64_t next_tokens = 0;
};
Band BandOf(const BandArguments& arguments, int64_t query_length, int64_t key_length);

struct DenseCall {
    const char* op = "";
    DType dtype = DType::kFloat16;
    const Layout* layout = nullptr;
    int64_t batch = 0;
    int64_t query_heads = 0;
    int64_t key_heads = 0;
    int64_t head_dim = 0;
    int64_t value_head_dim = 0;
    int64_t query_length = 0;  // Q_S
    int64_t key_length = 0;    // KV_S
    Lengths query_lengths;     // one per batch
    Lengths key_lengths;
    OptionalTensor mask;
    BandArguments tokens;
    bool writes_lse = false;
    double scale = 1.0;
};

// Is the content of a mask read? (The compressed masks of sparse_mode 2, 3 and 4 are a promise about positions.)
inline bool ReadsMask(const OptionalTensor& mask, int64_t sparse_mode) { return mask && sparse_mode <= 1; }

// Sequences without rows are left out; rows at or beyond a query length become sequences without keys.
AttentionProblem LowerDense(const DenseCall& call);

}  // namespace ascend_attention
