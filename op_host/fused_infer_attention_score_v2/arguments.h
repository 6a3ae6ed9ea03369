// SPDX-License-Identifier: Apache-2.0
// The arguments of npu_fused_infer_attention_score_v2 once, in the document's order. Every door walks this list: torch
// makes its schema of it and reads its stack with it, pybind11 reads keyword arguments with it, tests read their cases.
#pragma once

#include <type_traits>

#include "fused_infer_attention_score_v2/request.h"

namespace ascend_attention {

// Calls visitor(name, field) for each argument. `request` is a FusedInferAttentionScoreV2Request, const or not; field
// types are OptionalTensor, OptionalLengths, int64_t, double, bool, std::string and std::optional<int64_t>.
template <class Request, class Visitor,
          std::enable_if_t<std::is_same_v<std::remove_const_t<Request>, FusedInferAttentionScoreV2Request>, int> = 0>
void VisitArguments(Request& request, Visitor&& visitor) {
    visitor("query", request.query);
    visitor("key", request.key);
    visitor("value", request.value);
    visitor("query_rope", request.query_rope);
    visitor("key_rope", request.key_rope);
    visitor("pse_shift", request.pse_shift);
    visitor("atten_mask", request.atten_mask);
    visitor("actual_seq_qlen", request.actual_seq_qlen);
    visitor("actual_seq_kvlen", request.actual_seq_kvlen);
    visitor("block_table", request.block_table);
    visitor("dequant_scale_query", request.dequant_scale_query);
    visitor("dequant_scale_key", request.dequant_scale_key);
    visitor("dequant_offset_key", request.dequant_offset_key);
    visitor("dequant_scale_value", request.dequant_scale_value);
    visitor("dequant_offset_value", request.dequant_offset_value);
    visitor("dequant_scale_key_rope", request.dequant_scale_key_rope);
    visitor("quant_scale_out", request.quant_scale_out);
    visitor("quant_offset_out", request.quant_offset_out);
    visitor("learnable_sink", request.learnable_sink);
    visitor("num_query_heads", request.num_query_heads);
    visitor("num_key_value_heads", request.num_key_value_heads);
    visitor("softmax_scale", request.softmax_scale);
    visitor("pre_tokens", request.pre_tokens);
    visitor("next_tokens", request.next_tokens);
    visitor("input_layout", request.input_layout);
    visitor("sparse_mode", request.sparse_mode);
    visitor("block_size", request.block_size);
    visitor("query_quant_mode", request.query_quant_mode);
    visitor("key_quant_mode", request.key_quant_mode);
    visitor("value_quant_mode", request.value_quant_mode);
    visitor("inner_precise", request.inner_precise);
    visitor("return_softmax_lse", request.return_softmax_lse);
    visitor("query_dtype", request.query_dtype);
    visitor("key_dtype", request.key_dtype);
    visitor("value_dtype", request.value_dtype);
    visitor("query_rope_dtype", request.query_rope_dtype);
    visitor("key_rope_dtype", request.key_rope_dtype);
    visitor("key_shared_prefix_dtype", request.key_shared_prefix_dtype);
    visitor("value_shared_prefix_dtype", request.value_shared_prefix_dtype);
    visitor("dequant_scale_query_dtype", request.dequant_scale_query_dtype);
    visitor("dequant_scale_key_dtype", request.dequant_scale_key_dtype);
    visitor("dequant_scale_value_dtype", request.dequant_scale_value_dtype);
    visitor("dequant_scale_key_rope_dtype", request.dequant_scale_key_rope_dtype);
}

// The arguments that may be lists of tensors as well: visitor(name, list, the single tensor of that name).
template <class Request, class Visitor,
          std::enable_if_t<std::is_same_v<std::remove_const_t<Request>, FusedInferAttentionScoreV2Request>, int> = 0>
void VisitTensorLists(Request& request, Visitor&& visitor) {
    visitor("key", request.key_list, request.key);
    visitor("value", request.value_list, request.value);
    visitor("key_rope", request.key_rope_list, request.key_rope);
}

}  // namespace ascend_attention
