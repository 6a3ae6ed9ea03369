// SPDX-License-Identifier: Apache-2.0
// What only a sanitizer sees: a raw pointer past the end of a buffer, an integer overflow in device code. Only
// scripts/test_sanitizers runs it, to know that its silence elsewhere means something.
#include "kernel_operator.h"

extern "C" __global__ __aicore__ void wild_write(GM_ADDR y, int64_t count, int64_t overflow) {
    auto* values = reinterpret_cast<__gm__ int32_t*>(y);
    if (overflow != 0) {
        values[0] = static_cast<int32_t>(count) * static_cast<int32_t>(overflow);
    } else {
        values[count] = 1;
    }
}
