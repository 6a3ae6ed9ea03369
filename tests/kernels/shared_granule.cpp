// SPDX-License-Identifier: Apache-2.0
// Every vector core stores one 4-byte value next to its neighbour's, in the same 32 bytes: legal. With `overlap` they
// all store to the same place: a race, unless the stores are atomic.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void shared_granule(GM_ADDR y, int64_t overlap, int64_t atomic) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 32);
    LocalTensor<float> value = buffer.Get<float>();
    GlobalTensor<float> target;
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    Duplicate(value, 1.0f, 8);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    if (atomic != 0) {
        SetAtomicAdd<float>();
    }
    DataCopyPad(target[overlap != 0 ? 0 : GetBlockIdx()], value, DataCopyParams{1, 4, 0, 0});
    if (atomic != 0) {
        SetAtomicNone();
    }
}
