// SPDX-License-Identifier: Apache-2.0
// A vector core stores to global memory and loads the same place again: MTE3 before MTE2 needs an event, and the other
// way round. Also scalar access to UB between vector and copy instructions.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kCount = 128;

enum Defect : int32_t {
    kNone = 0,
    kNoStoreToLoad = 1,     // MTE3_MTE2, through global memory
    kNoLoadToStore = 2,     // MTE2_MTE3: the store overwrites what a load still reads
    kNoLoadToScalar = 3,    // MTE2_S before GetValue
    kNoVectorToScalar = 4,  // V_S before GetValue
    kNoScalarToVector = 5,  // S_V after SetValue
    kNoScalarToStore = 6,   // S_MTE3 after SetValue
};

}  // namespace

extern "C" __global__ __aicore__ void global_turnaround(GM_ADDR x, GM_ADDR scratch, GM_ADDR y, int64_t defect) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4 * kCount * sizeof(float));
    LocalTensor<float> first = buffer.Get<float>();
    LocalTensor<float> second = first[kCount];
    LocalTensor<float> third = first[2 * kCount];
    GlobalTensor<float> source;
    GlobalTensor<float> middle;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), kCount);
    middle.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(scratch), kCount);
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), kCount);

    DataCopy(first, source, kCount);
    if (defect != kNoLoadToScalar) {
        SetFlag<HardEvent::MTE2_S>(0);
        WaitFlag<HardEvent::MTE2_S>(0);
    }
    const float head = first.GetValue(0);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Muls(second, first, 2.0f, kCount);
    if (defect != kNoVectorToScalar) {
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
    }
    const float doubled = second.GetValue(1);
    third.SetValue(0, head + doubled);
    if (defect != kNoScalarToVector) {
        SetFlag<HardEvent::S_V>(0);
        WaitFlag<HardEvent::S_V>(0);
    }
    PipeBarrier<PIPE_V>();
    Adds(second, third, 0.0f, 1);
    if (defect != kNoScalarToStore) {
        SetFlag<HardEvent::S_MTE3>(0);
        WaitFlag<HardEvent::S_MTE3>(0);
    }
    DataCopyPad(target[0], third, DataCopyParams{1, 4, 0, 0});
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(middle, second, kCount);
    if (defect != kNoStoreToLoad) {
        SetFlag<HardEvent::MTE3_MTE2>(0);
        WaitFlag<HardEvent::MTE3_MTE2>(0);
    }
    LocalTensor<float> fourth = first[3 * kCount];
    DataCopy(fourth, middle, kCount);
    if (defect != kNoLoadToStore) {
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
    }
    PipeBarrier<PIPE_MTE3>();
    DataCopy(middle, second, kCount);
}
