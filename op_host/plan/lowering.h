// SPDX-License-Identifier: Apache-2.0
// From a call in the terms that operators share (layout, lengths, sparse_mode, where keys lie) to an AttentionProblem.
// An operator's own lower.cpp says what its arguments are in these terms.
#pragma once

#include <cstdint>
#include <optional>

#include "common/layout.h"
#include "common/lengths.h"
#include "common/sizes.h"
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

// The explicit mask: rows of bytes, a plane of them for each sequence or one for all.
struct MaskPlanes {
    bool read = false;
    int64_t plane = 0;  // elements from one sequence's plane to the next; 0: all share one
    int64_t row = 0;
};
// atten_mask of sparse_mode 0 and 1 over (Q_S, KV_S). In modes 2, 3 and 4 it is a promise about positions: not read.
MaskPlanes MaskPlanesOf(const OptionalTensor& mask, int64_t sparse_mode, int64_t batch);

// A bias for each query head over (Q_S, KV_S), a set of them for each sequence or one for all.
struct BiasPlanes {
    bool read = false;
    int64_t set = 0;  // elements from one sequence's planes to the next; 0: all share one
    HeadStrides strides{};
};
BiasPlanes BiasPlanesOf(const OptionalTensor& pse_shift);

// Where keys lie.
struct KeyAddressing {
    struct Part {
        HeadStrides strides{};
        int64_t step = 0;  // dense: from one sequence (token-packed: token) to the next; paged: from block to block
    };
    KeyPlacement placement = KeyPlacement::kDense;
    Part key;
    Part key_rope;
    Part value;
    int64_t block_size = 0;  // paged, selected
    int64_t entries = 0;     // of each sequence, in block_table or in the list of addresses
};
// The map of selected keys: a set of planes for each sequence, a plane for each query head, a row for each block of
// rows.
struct BlockMap {
    int64_t query_block = 0;  // rows of a block
    int64_t set = 0;          // elements from one sequence to the next
    HeadStrides strides{};
};
// `map` (B, N, blocks of rows, blocks of keys).
BlockMap BlockMapOf(const TensorView& map, int64_t query_block);

// Key and value in the layout of query. `rope_dim` 0: no key_rope.
KeyAddressing DenseKeys(const CallSizes& sizes, int64_t rope_dim = 0);

struct CallTerms {
    const char* op = "";
    DType dtype = DType::kFloat16;
    int64_t rope_dim = 0;           // head_dim of query_rope and key_rope, 0 without them
    SequenceLengths query_lengths;  // of each sequence
    SequenceLengths key_lengths;
    BandArguments band;
    MaskPlanes mask;
    BiasPlanes bias;
    BlockMap map;
    std::optional<AxisOrder> lse_order;  // else (T, N, 1) of token-packed layouts, (B, N, S, 1) of others
    bool sink = false;
    bool writes_lse = false;
    double scale = 1.0;
};

// Sequences without rows are left out; rows at or beyond a query length become sequences without keys.
AttentionProblem LowerCall(const CallSizes& sizes, const CallTerms& terms, const KeyAddressing& keys);

}  // namespace ascend_attention
