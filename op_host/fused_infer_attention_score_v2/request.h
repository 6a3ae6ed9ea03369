// SPDX-License-Identifier: Apache-2.0
// A call of npu_fused_infer_attention_score_v2 as the caller made it: every argument of the document, by its name, in
// its order, with its default. Nothing is checked or normalised here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "common/lengths.h"
#include "common/tensor.h"

namespace ascend_attention {

inline constexpr const char* kFusedInferAttentionScoreV2 = "npu_fused_infer_attention_score_v2";

struct FusedInferAttentionScoreV2Request {
    static constexpr const char* kOperator = kFusedInferAttentionScoreV2;
    static constexpr bool kHasLse = true;                              // is softmax_lse a result of the operator?
    static constexpr std::initializer_list<const char*> kStated = {};  // arguments without a default

    OptionalTensor query;  // required; empty here means the caller passed none (161001)
    OptionalTensor key;    // required
    OptionalTensor value;  // required

    // key, value and key_rope may each be a list with one tensor for each sequence; the single tensor is empty then.
    OptionalTensorList key_list;
    OptionalTensorList value_list;
    OptionalTensorList key_rope_list;

    OptionalTensor query_rope;
    OptionalTensor key_rope;
    OptionalTensor pse_shift;
    OptionalTensor atten_mask;
    OptionalLengths actual_seq_qlen;
    OptionalLengths actual_seq_kvlen;
    OptionalTensor block_table;
    OptionalTensor dequant_scale_query;
    OptionalTensor dequant_scale_key;
    OptionalTensor dequant_offset_key;
    OptionalTensor dequant_scale_value;
    OptionalTensor dequant_offset_value;
    OptionalTensor dequant_scale_key_rope;  // reserved
    OptionalTensor quant_scale_out;
    OptionalTensor quant_offset_out;
    OptionalTensor learnable_sink;

    int64_t num_query_heads = 1;
    int64_t num_key_value_heads = 0;  // 0: as many as query heads
    double softmax_scale = 1.0;
    int64_t pre_tokens = 2147483647;
    int64_t next_tokens = 2147483647;
    std::string input_layout = "BSH";
    int64_t sparse_mode = 0;
    int64_t block_size = 0;
    int64_t query_quant_mode = 0;
    int64_t key_quant_mode = 0;
    int64_t value_quant_mode = 0;
    int64_t inner_precise = 0;
    bool return_softmax_lse = false;

    // Reserved by the document: to be left at their default.
    std::optional<int64_t> query_dtype;
    std::optional<int64_t> key_dtype;
    std::optional<int64_t> value_dtype;
    std::optional<int64_t> query_rope_dtype;
    std::optional<int64_t> key_rope_dtype;
    std::optional<int64_t> key_shared_prefix_dtype;
    std::optional<int64_t> value_shared_prefix_dtype;
    std::optional<int64_t> dequant_scale_query_dtype;
    std::optional<int64_t> dequant_scale_key_dtype;
    std::optional<int64_t> dequant_scale_value_dtype;
    std::optional<int64_t> dequant_scale_key_rope_dtype;

    bool wants_lse() const { return return_softmax_lse; }
};

}  // namespace ascend_attention
