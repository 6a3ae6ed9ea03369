// SPDX-License-Identifier: Apache-2.0
// A call of npu_prompt_flash_attention as the caller made it: every argument of the document, by its name, in its
// order, with its default. Nothing is checked or normalised here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "common/lengths.h"
#include "common/tensor.h"

namespace ascend_attention {

inline constexpr const char* kPromptFlashAttention = "npu_prompt_flash_attention";

struct PromptFlashAttentionRequest {
    static constexpr const char* kOperator = kPromptFlashAttention;
    static constexpr bool kHasLse = false;                             // is softmax_lse a result of the operator?
    static constexpr std::initializer_list<const char*> kStated = {};  // arguments without a default

    OptionalTensor query;  // required; empty here means the caller passed none (161001)
    OptionalTensor key;    // required
    OptionalTensor value;  // required

    OptionalTensor pse_shift;
    OptionalTensor padding_mask;  // reserved
    OptionalTensor atten_mask;
    OptionalLengths actual_seq_lengths;
    OptionalTensor deq_scale1;
    OptionalTensor quant_scale1;
    OptionalTensor deq_scale2;
    OptionalTensor quant_scale2;
    OptionalTensor quant_offset2;

    int64_t num_heads = 1;
    double scale_value = 1.0;
    int64_t pre_tokens = 2147483647;
    int64_t next_tokens = 0;
    std::string input_layout = "BSH";
    int64_t num_key_value_heads = 0;  // 0: as many as query heads
    OptionalLengths actual_seq_lengths_kv;
    int64_t sparse_mode = 0;

    bool wants_lse() const { return false; }
};

}  // namespace ascend_attention
