// SPDX-License-Identifier: Apache-2.0
// Global memory addresses of a launch, in the order of the kernels' parameters.
#pragma once

#include "kernel_operator.h"

namespace ascend_attention {

struct KernelArguments {
    GM_ADDR query;
    GM_ADDR key;  // a list of addresses when the plan says kList, as is value
    GM_ADDR value;
    GM_ADDR query_rope;  // null unless the plan has a rope_dim, as is key_rope
    GM_ADDR key_rope;
    GM_ADDR atten_mask;      // null unless the plan has_mask
    GM_ADDR pse_shift;       // null unless the plan has_bias
    GM_ADDR learnable_sink;  // null unless the plan has_sink
    GM_ADDR block_table;     // null unless keys are paged, or selected: then it is the map of blocks
    GM_ADDR attention_out;
    GM_ADDR softmax_lse;  // null unless the plan writes_lse
    GM_ADDR workspace;
    GM_ADDR plan;
};

}  // namespace ascend_attention
