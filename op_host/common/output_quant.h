// SPDX-License-Identifier: Apache-2.0
// Output quantisation (scale and offset per tensor or per channel) and pse_shift: rules that operators share.
#pragma once

#include "common/status.h"
#include "common/tensor.h"

namespace ascend_attention {

struct OutputQuantArguments {
    const char* op;
    const char* scale_name;   // "quant_scale_out"
    const char* offset_name;  // "quant_offset_out"
    const OptionalTensor& scale;
    const OptionalTensor& offset;
    DType query;
    int64_t heads;
    int64_t head_dim;        // of value
    const char* heads_name;  // "num_query_heads"
    bool float16_scale;      // also with float16 queries
};

// An offset needs a scale.
Status CheckOffsetHasScale(const OutputQuantArguments& arguments, const char* rule);
// The others: only with a scale.
Status CheckOffsetLikeScale(const OutputQuantArguments& arguments, const char* rule);
Status CheckScaleDType(const OutputQuantArguments& arguments, const char* rule);
Status CheckScaleCount(const OutputQuantArguments& arguments, const char* rule);
// head_dim a multiple of 32 with a scale per channel.
Status CheckScalePerChannel(const OutputQuantArguments& arguments, const char* rule);

struct PseArguments {
    const char* op;
    const TensorView& pse;
    DType query;
    int64_t batch;
    int64_t heads;
    int64_t query_length;
    int64_t key_length;
};
// (1 or B, N, at least Q_S, at least KV_S).
Status CheckPseShape(const PseArguments& arguments, const char* rule);
// float16 with float16 and int8 queries, bfloat16 with bfloat16.
Status CheckPseDType(const PseArguments& arguments, const char* rule);

}  // namespace ascend_attention
