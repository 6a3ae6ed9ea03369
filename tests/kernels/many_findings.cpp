// SPDX-License-Identifier: Apache-2.0
// One finding for each of `count` lines, as a broken loop of a large kernel might have them: the lines are given
// instead of written.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void many_findings(int64_t count) {
    for (int64_t line = 0; line <= count; ++line) {
        SetFlag<HardEvent::MTE2_V>(0, ascend_attention::sim::Site{"many.cpp", static_cast<int>(line)});
    }
    WaitFlag<HardEvent::MTE2_V>(0);
}
