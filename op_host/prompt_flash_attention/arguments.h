// SPDX-License-Identifier: Apache-2.0
// The arguments of npu_prompt_flash_attention once, in the document's order. Every door walks this list.
#pragma once

#include <type_traits>

#include "prompt_flash_attention/request.h"

namespace ascend_attention {

// Calls visitor(name, field) for each argument. `request` is a PromptFlashAttentionRequest, const or not.
template <class Request, class Visitor,
          std::enable_if_t<std::is_same_v<std::remove_const_t<Request>, PromptFlashAttentionRequest>, int> = 0>
void VisitArguments(Request& request, Visitor&& visitor) {
    visitor("query", request.query);
    visitor("key", request.key);
    visitor("value", request.value);
    visitor("pse_shift", request.pse_shift);
    visitor("padding_mask", request.padding_mask);
    visitor("atten_mask", request.atten_mask);
    visitor("actual_seq_lengths", request.actual_seq_lengths);
    visitor("deq_scale1", request.deq_scale1);
    visitor("quant_scale1", request.quant_scale1);
    visitor("deq_scale2", request.deq_scale2);
    visitor("quant_scale2", request.quant_scale2);
    visitor("quant_offset2", request.quant_offset2);
    visitor("num_heads", request.num_heads);
    visitor("scale_value", request.scale_value);
    visitor("pre_tokens", request.pre_tokens);
    visitor("next_tokens", request.next_tokens);
    visitor("input_layout", request.input_layout);
    visitor("num_key_value_heads", request.num_key_value_heads);
    visitor("actual_seq_lengths_kv", request.actual_seq_lengths_kv);
    visitor("sparse_mode", request.sparse_mode);
}

}  // namespace ascend_attention
