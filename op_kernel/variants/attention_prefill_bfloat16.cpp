// SPDX-License-Identifier: Apache-2.0
// Prefill attention, bfloat16 query, key, value and output.
#include "kernel_operator.h"

#include "engine/prefill.h"

extern "C" __global__ __aicore__ void attention_prefill_bfloat16(GM_ADDR query, GM_ADDR key, GM_ADDR value,
                                                                 GM_ADDR atten_mask, GM_ADDR attention_out,
                                                                 GM_ADDR softmax_lse, GM_ADDR workspace, GM_ADDR plan) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    ascend_attention::RunPrefill<bfloat16_t>(
        {query, key, value, atten_mask, attention_out, softmax_lse, workspace, plan});
}
