// SPDX-License-Identifier: Apache-2.0
// y = 2 x on a vector core, with an event and a barrier that order nothing, and a barrier that only `again` reaches.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 128;
constexpr int32_t kLoaded = 0;
constexpr int32_t kIdle = 2;
constexpr int32_t kDone = 3;

}  // namespace

extern "C" __global__ __aicore__ void redundant_sync(GM_ADDR x, GM_ADDR y, int64_t again) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 2 * kTile * sizeof(float));
    LocalTensor<float> in = buffer.Get<float>();
    LocalTensor<float> out = in[kTile];
    GlobalTensor<float> source;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), kTile);
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), kTile);
    DataCopy(in, source, kTile);
    SetFlag<HardEvent::MTE2_V>(kLoaded);
    WaitFlag<HardEvent::MTE2_V>(kLoaded);
    PipeBarrier<PIPE_V>();  // V has done nothing yet
    Add(out, in, in, kTile);
    SetFlag<HardEvent::V_MTE2>(kIdle);  // nothing is loaded after it
    PipeBarrier<PIPE_V>();
    Muls(out, out, 1.0f, kTile);
    if (again != 0) {
        PipeBarrier<PIPE_V>();
        Muls(out, out, 1.0f, kTile);
    }
    WaitFlag<HardEvent::V_MTE2>(kIdle);
    SetFlag<  // one call on several lines
        HardEvent::V_MTE3>(kDone);
    WaitFlag<HardEvent::V_MTE3>(kDone);
    DataCopy(target, out, kTile);
}
