// SPDX-License-Identifier: Apache-2.0
// Instructions that touch one 32-byte unit of UB piece by piece. The checker must judge each piece by itself: even
// values of `which` are correct, each odd value is the same with one piece of order missing.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t kLanes = 8;

void Reduce(const LocalTensor<float>& target, const LocalTensor<float>& source, int32_t lane) {
    WholeReduceMax(target[lane], source[64 * lane], 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
}

// S reads another lane after the flag that covers its read of lane 0.
void ReadOtherLane(const LocalTensor<float>& lanes, bool same) {
    (void)lanes.GetValue(0);
    SetFlag<HardEvent::S_V>(0);
    (void)lanes.GetValue(same ? 0 : 1);
    WaitFlag<HardEvent::S_V>(0);
    Duplicate(lanes, 5.0f, 1);
}

// V is one lane ahead of S.
void ReduceAhead(const LocalTensor<float>& target, const LocalTensor<float>& source, bool early) {
    Reduce(target, source, 0);
    SetFlag<HardEvent::V_S>(0);
    for (int32_t lane = 0; lane < kLanes; ++lane) {
        if (lane + 1 < kLanes) {
            Reduce(target, source, lane + 1);
            SetFlag<HardEvent::V_S>((lane + 1) % 2);
        }
        WaitFlag<HardEvent::V_S>(lane % 2);
        (void)target.GetValue(early && lane == 6 ? 7 : lane);
    }
}

// Three lanes by V, one by S; the store of lane 0 must be ordered after V, whoever wrote last.
void StoreOneLane(const LocalTensor<float>& target, const LocalTensor<float>& source, GlobalTensor<float> y,
                  bool scalar, bool after_vector) {
    for (int32_t lane = 0; lane < 3; ++lane) {
        Reduce(target, source, lane);
    }
    if (scalar) {
        target.SetValue(3, 1.0f);
    }
    if (after_vector) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
    } else {
        SetFlag<HardEvent::S_MTE3>(0);
        WaitFlag<HardEvent::S_MTE3>(0);
    }
    DataCopyPad(y, target, DataCopyParams{1, 4, 0, 0});
}

// S reads all lanes one by one; V overwrites the first with an order after that read only, or the last.
void OverwriteAfterReads(const LocalTensor<float>& lanes, int32_t lane) {
    (void)lanes.GetValue(0);
    SetFlag<HardEvent::S_V>(0);
    for (int32_t i = 1; i < kLanes; ++i) {
        (void)lanes.GetValue(i);
    }
    WaitFlag<HardEvent::S_V>(0);
    uint64_t mask[2] = {uint64_t(1) << lane, 0};
    Duplicate(lanes, 5.0f, mask, 1, 1, 8);
}

}  // namespace

extern "C" __global__ __aicore__ void granule(GM_ADDR x, GM_ADDR y, int64_t which) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> source = buffer.Get<float>();
    LocalTensor<float> target = source[512];
    GlobalTensor<float> input;
    GlobalTensor<float> output;
    input.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    output.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    DataCopy(source, input, 512);
    PipeBarrier<PIPE_ALL>();
    const bool wrong = which % 2 != 0;
    switch (which / 2) {
        case 0:
            ReadOtherLane(source, wrong);
            break;
        case 1:
            ReduceAhead(target, source, wrong);
            break;
        case 2:
            StoreOneLane(target, source, output, false, !wrong);
            break;
        case 3:
            StoreOneLane(target, source, output, true, !wrong);
            break;
        case 4:
            OverwriteAfterReads(source, wrong ? kLanes - 1 : 0);
            break;
        default:
            break;
    }
}
