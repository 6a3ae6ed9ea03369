// SPDX-License-Identifier: Apache-2.0
// Assertions that hold, and one per `which` that does not.
#include "kernel_operator.h"

extern "C" __global__ __aicore__ void assertions(int64_t which) {
    using namespace AscendC;
    assert(which >= 0);
    ascendc_assert(which >= 0 && "never below zero");
    ASSERT(which < 100);
    ASCENDC_ASSERT((which < 100), { KERNEL_LOG(KERNEL_ERROR, "which is %ld", which); });
    switch (which) {
        case 1:
            assert(which != 1);
            break;
        case 2:
            ascendc_assert(which != 2, "which is %ld, %s.\n", which, "not two");
            break;
        case 3:
            ASSERT(which != 3);
            break;
        case 4:
            ASCENDC_ASSERT((which != 4), { KERNEL_LOG(KERNEL_ERROR, "log %d\n", int(which)); });
            break;
        case 5:
            Trap();
            break;
        case 6:
            trap();
            break;
        default:
            break;
    }
}
