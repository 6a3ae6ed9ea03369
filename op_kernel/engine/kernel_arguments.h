// SPDX-License-Identifier: Apache-2.0
// Global memory addresses of a launch, in the order of the kernels' parameters.
#pragma once

#include "kernel_operator.h"

namespace ascend_attention {

struct KernelArguments {
    GM_ADDR query;
    GM_ADDR key;
    GM_ADDR value;
    GM_ADDR atten_mask;  // null unless the plan has_mask
    GM_ADDR attention_out;
    GM_ADDR softmax_lse;  // null unless the plan writes_lse
    GM_ADDR workspace;
    GM_ADDR plan;
};

}  // namespace ascend_attention
