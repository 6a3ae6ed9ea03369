// SPDX-License-Identifier: Apache-2.0
// AttentionProblem: what every attention operator is lowered to. 64-bit everywhere; offsets and strides count elements.
#pragma once

#include <cstdint>
#include <limits>

#include "common/dtype.h"
#include "common/unset_vector.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

// Band ends that limit nothing. Far from the 64-bit limits, so that sums with lengths are safe.
constexpr int64_t kBandOpenLow = -(int64_t(1) << 60);
constexpr int64_t kBandOpenHigh = int64_t(1) << 60;

// Element offsets of (head 0, position 0) of a sequence, in the order of SequencePlan.
struct SequenceOffsets {
    int64_t query = 0;
    int64_t key = 0;  // paged: entry of block_table with the first block, as are value and key_rope
    int64_t value = 0;
    int64_t query_rope = 0;
    int64_t key_rope = 0;
    int64_t key_list = 0;  // entry with the address of key head 0, in the lists of addresses key and value
    int64_t output = 0;
    int64_t lse = 0;
    int64_t mask = 0;
    int64_t bias = 0;
    int64_t map = 0;

    SequenceOffsets() = default;
    // So many steps from the first sequence: of rows, of keys, of what lies once for each sequence.
    SequenceOffsets(const SequenceOffsets& step, int64_t rows, int64_t keys, int64_t sequences)
        : query(step.query * rows),
          key(step.key * keys),
          value(step.value * keys),
          query_rope(step.query_rope * rows),
          key_rope(step.key_rope * keys),
          key_list(step.key_list * sequences),
          output(step.output * rows),
          lse(step.lse * rows),
          mask(step.mask * sequences),
          bias(step.bias * sequences),
          map(step.map * sequences) {}
};

// Query rows [0, query_length) against keys [0, key_length). A row at position p sees the keys of
// [p + band_low, p + band_high]. key_length 0: the rows are only zeroed (LSE +inf).
struct ProblemSequence : SequenceOffsets {
    int64_t query_length = 0;
    int64_t key_length = 0;
    int64_t band_low = kBandOpenLow;
    int64_t band_high = kBandOpenHigh;

    ProblemSequence() = default;
    ProblemSequence(const SequenceOffsets& offsets, int64_t queries, int64_t keys, int64_t low = kBandOpenLow,
                    int64_t high = kBandOpenHigh)
        : SequenceOffsets(offsets), query_length(queries), key_length(keys), band_low(low), band_high(high) {}
};

struct AttentionProblem {
    const char* op = "";            // the operator the caller called, for error texts
    DType dtype = DType::kFloat16;  // of query, key, value and output
    int64_t query_heads = 0;
    int64_t key_heads = 0;  // divides query_heads; query head h reads key head h / (query_heads / key_heads)
    int64_t head_dim = 0;   // of query and key, rope included
    int64_t rope_dim = 0;   // the last channels of head_dim lie in query_rope and key_rope; 0: none do
    int64_t value_head_dim = 0;
    HeadStrides query{};  // of query heads, also when the planner folds a group into rows
    HeadStrides query_rope{};
    HeadStrides output{};
    HeadStrides lse{};
    RowOrder fold_order = RowOrder::kHeadMajor;  // order in which folded rows lie closest in memory
    // What the strides of keys and values mean: see KeyPlacement.
    KeyPlacement key_placement = KeyPlacement::kDense;
    HeadStrides key{};
    HeadStrides key_rope{};
    HeadStrides value{};
    int64_t block_size = 0;  // of a paged cache or of selected keys, as are the elements from block to block
    int64_t key_block = 0;
    int64_t key_rope_block = 0;
    int64_t value_block = 0;
    int64_t query_block = 0;  // selected keys: rows that see the same ones
    HeadStrides map{};        // and where the map says which: from head to head, from block of rows to block of rows
    bool has_mask = false;    // one byte per (position, key), non-zero hides; the same for every head
    int64_t mask_row = 0;     // elements between two mask rows
    bool has_bias = false;    // one number per (query head, position, key), in `dtype`: added to the scaled scores
    HeadStrides bias{};
    bool has_sink = false;  // one more score per query head, which takes part in the softmax only
    bool writes_lse = false;
    double scale = 1.0;
    UnsetVector<ProblemSequence> sequences;  // only with query_length >= 1
};

}  // namespace ascend_attention
