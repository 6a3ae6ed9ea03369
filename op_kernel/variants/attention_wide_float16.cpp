// SPDX-License-Identifier: Apache-2.0
// Attention with float16 query, key, value and output, heads of up to 512 channels, or 512 and 64.
#include "kernel_operator.h"

#include "engine/wide.h"

extern "C" __global__ __aicore__ void attention_wide_float16(GM_ADDR query, GM_ADDR key, GM_ADDR value,
                                                             GM_ADDR query_rope, GM_ADDR key_rope, GM_ADDR atten_mask,
                                                             GM_ADDR pse_shift, GM_ADDR learnable_sink,
                                                             GM_ADDR block_table, GM_ADDR attention_out,
                                                             GM_ADDR softmax_lse, GM_ADDR workspace, GM_ADDR plan) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    ascend_attention::RunWide<half>({query, key, value, query_rope, key_rope, atten_mask, pse_shift, learnable_sink,
                                     block_table, attention_out, softmax_lse, workspace, plan});
}
