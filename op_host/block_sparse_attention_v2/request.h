// SPDX-License-Identifier: Apache-2.0
// A call of block_sparse_attention_v2 as the caller made it: every argument of aclnnBlockSparseAttentionV2's first
// phase, its name in snake case (without "Optional"), in its order. The C interface has no defaults; these are those of
// torch_npu.npu_block_sparse_attention where it has the argument, else the only value that means nothing is asked for.
// Nothing is checked or normalised here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "common/lengths.h"
#include "common/tensor.h"

namespace ascend_attention {

inline constexpr const char* kBlockSparseAttentionV2 = "block_sparse_attention_v2";

struct BlockSparseAttentionV2Request {
    static constexpr const char* kOperator = kBlockSparseAttentionV2;
    static constexpr bool kHasLse = true;  // is softmax_lse a result of the operator?
    // What callers have to say besides the three tensors, whatever the values below: as in the C interface.
    static constexpr std::initializer_list<const char*> kStated = {"q_input_layout", "kv_input_layout",
                                                                   "num_key_value_heads", "scale_value"};

    OptionalTensor query;  // required; empty here means the caller passed none (161001)
    OptionalTensor key;    // required
    OptionalTensor value;  // required

    OptionalTensor block_sparse_mask;
    OptionalTensor atten_mask;
    OptionalLengths block_shape;
    OptionalLengths actual_seq_lengths;
    OptionalLengths actual_seq_lengths_kv;
    OptionalTensor block_table;
    OptionalTensor q_dequant_scale;
    OptionalTensor k_dequant_scale;
    OptionalTensor v_dequant_scale;

    std::string q_input_layout = "TND";
    std::string kv_input_layout = "TND";
    int64_t num_key_value_heads = 1;
    int64_t mask_type = 0;
    double scale_value = 0.0;
    int64_t inner_precise = 4;
    int64_t block_size = 0;
    int64_t pre_tokens = 2147483647;
    int64_t next_tokens = 2147483647;
    int64_t softmax_lse_flag = 0;

    bool wants_lse() const { return softmax_lse_flag == 1; }
};

}  // namespace ascend_attention
