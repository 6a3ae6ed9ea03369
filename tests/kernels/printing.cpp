// SPDX-License-Identifier: Apache-2.0
// printf, unqualified, as kernels call it.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void printing(int64_t number) {
    printf("kernel says %d of %s\n", static_cast<int>(number), "block");
}
