// SPDX-License-Identifier: Apache-2.0
// AIV0 sets one cross-core flag from two pipes; AIV1 waits for it. A counter does not tell which set it counted, so
// after one wait nothing is known about either pipe, after two waits both are done. Mode 1 gathers both vector cores.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint16_t kFlag = 3;
constexpr uint32_t kRow = 64;

}  // namespace

// waits: how many sets the reader waits for before it reads what MTE3 of the writer stored.
// same_pipe: both sets come from MTE3, the store lies before the first of them.
extern "C" __global__ __aicore__ void flag_counters(GM_ADDR exchange, GM_ADDR y, int64_t waits, int64_t same_pipe) {
    if ASCEND_IS_AIC {
        return;
    }
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, kRow * sizeof(float));
    LocalTensor<float> local = buffer.Get<float>();
    GlobalTensor<float> row;
    GlobalTensor<float> target;
    row.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(exchange));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    const bool writer = GetSubBlockIdx() == 0;
    if (writer) {
        Duplicate(local, 3.0f, kRow);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(row, local, kRow);
    }
    CrossCoreSetFlag<1, PIPE_MTE3>(kFlag);
    if (same_pipe != 0) {
        CrossCoreSetFlag<1, PIPE_MTE3>(kFlag);
    } else {
        CrossCoreSetFlag<1, PIPE_V>(kFlag);
    }
    for (int64_t i = 0; i < waits; ++i) {
        CrossCoreWaitFlag(kFlag);
    }
    if (!writer) {
        DataCopy(local, row, kRow);
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        DataCopy(target, local, kRow);
    }
    for (int64_t i = waits; i < 2; ++i) {
        CrossCoreWaitFlag(kFlag);
    }
}
