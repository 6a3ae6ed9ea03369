// SPDX-License-Identifier: Apache-2.0
// The arguments of block_sparse_attention_v2 once, in the document's order. Every door walks this list.
#pragma once

#include <type_traits>

#include "block_sparse_attention_v2/request.h"

namespace ascend_attention {

// Calls visitor(name, field) for each argument. `request` is a BlockSparseAttentionV2Request, const or not.
template <class Request, class Visitor,
          std::enable_if_t<std::is_same_v<std::remove_const_t<Request>, BlockSparseAttentionV2Request>, int> = 0>
void VisitArguments(Request& request, Visitor&& visitor) {
    visitor("query", request.query);
    visitor("key", request.key);
    visitor("value", request.value);
    visitor("block_sparse_mask", request.block_sparse_mask);
    visitor("atten_mask", request.atten_mask);
    visitor("block_shape", request.block_shape);
    visitor("actual_seq_lengths", request.actual_seq_lengths);
    visitor("actual_seq_lengths_kv", request.actual_seq_lengths_kv);
    visitor("block_table", request.block_table);
    visitor("q_dequant_scale", request.q_dequant_scale);
    visitor("k_dequant_scale", request.k_dequant_scale);
    visitor("v_dequant_scale", request.v_dequant_scale);
    visitor("q_input_layout", request.q_input_layout);
    visitor("kv_input_layout", request.kv_input_layout);
    visitor("num_key_value_heads", request.num_key_value_heads);
    visitor("mask_type", request.mask_type);
    visitor("scale_value", request.scale_value);
    visitor("inner_precise", request.inner_precise);
    visitor("block_size", request.block_size);
    visitor("pre_tokens", request.pre_tokens);
    visitor("next_tokens", request.next_tokens);
    visitor("softmax_lse_flag", request.softmax_lse_flag);
}

}  // namespace ascend_attention
