// SPDX-License-Identifier: Apache-2.0
// One flag, used in turns by the cube core for its own vector cores (mode 2) and by all vector cores among themselves
// (mode 0), so that counters of one core are raised by cores of its block and of others at the same time. The vector
// core `silent`, if there is one of that number, never sets the flag: nobody can go on then.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint16_t kShared = 3;
constexpr uint16_t kTurn = 4;
constexpr int64_t kAhead = 3;  // rounds that the cube core may be ahead

}  // namespace

extern "C" __global__ __aicore__ void flag_storm(GM_ADDR y, int64_t rounds, int64_t silent) {
    TPipe pipe;
    if ASCEND_IS_AIC {
        for (int64_t round = 0; round < rounds; ++round) {
            CrossCoreSetFlag<2, PIPE_FIX>(kShared);
            if (round >= kAhead) {
                CrossCoreWaitFlag(kTurn);
            }
        }
        for (int64_t round = 0; round < rounds && round < kAhead; ++round) {
            CrossCoreWaitFlag(kTurn);
        }
        return;
    }
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 8 * sizeof(float));
    LocalTensor<float> ones = buffer.Get<float>();
    GlobalTensor<float> target;
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    for (int64_t round = 0; round < rounds; ++round) {
        CrossCoreWaitFlag(kShared);
        if (GetBlockIdx() != silent) {
            CrossCoreSetFlag<0, PIPE_MTE3>(kShared);
        }
        CrossCoreWaitFlag(kShared);
        CrossCoreSetFlag<2, PIPE_MTE3>(kTurn);
    }
    Duplicate(ones, 1.0f, 8);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(target[GetBlockIdx() * 8], ones, 8);
}
