// SPDX-License-Identifier: Apache-2.0
// What may follow a reduction of a whole tensor without a flag of the kernel's own. `how` chooses the reduction and the
// call behind it.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t kCount = 256;
constexpr int32_t kRepeats = 80;  // of 8 floats, in a row: more than there are lanes

enum How : int64_t {
    kSum = 0,            // by element count
    kExtreme = 1,        // by element count
    kIndex = 2,          // of several repeats
    kIndexOfRepeat = 3,  // the last step is a vector instruction
    kMaskedSum = 4,      // of several repeats
    kSumOfSums = 5,      // the last step is a vector instruction
    kSumThenLoad = 6,    // nothing makes MTE2 wait for the scalar unit
    kLoadThenSum = 7,    // nothing makes the vector pipe wait for MTE2
    kStoreThenSum = 8,   // nothing makes the scalar unit wait for MTE3
};

struct Tiles {
    LocalTensor<float> source;
    LocalTensor<float> result;
    LocalTensor<float> work;
};

void Reduce(Tiles& tiles, int64_t how) {
    switch (how) {
        case kExtreme:
            ReduceMax(tiles.result, tiles.source, tiles.work, kCount);
            break;
        case kIndex:
            ReduceMax(tiles.result, tiles.source, tiles.work, kCount, true);
            break;
        case kIndexOfRepeat:
            ReduceMin(tiles.result, tiles.source, tiles.work, 64, true);
            break;
        case kMaskedSum:
            ReduceSum(tiles.result, tiles.source, tiles.work, 64, 4, 8);
            break;
        case kSumOfSums:
            ReduceSum(tiles.result, tiles.source, tiles.work, 8, kRepeats, 1);
            break;
        default:
            ReduceSum(tiles.result, tiles.source, tiles.work, kCount);
            break;
    }
}

}  // namespace

extern "C" __global__ __vector__ void reduce_order(GM_ADDR x, GM_ADDR y, int64_t how) {
    InitSocState();
    GlobalTensor<float> in;
    GlobalTensor<float> out;
    in.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    Tiles tiles{LocalTensor<float>(TPosition::VECCALC, 0, 1024), LocalTensor<float>(TPosition::VECCALC, 4096, 16),
                LocalTensor<float>(TPosition::VECCALC, 8192, 1024)};
    DataCopy(tiles.source, in, 1024);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Duplicate(tiles.result, 0.0F, 16);
    PipeBarrier<PIPE_V>();
    if (how == kStoreThenSum) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(out[16], tiles.result, 16);
    }
    if (how == kLoadThenSum) {
        SetFlag<HardEvent::V_MTE2>(0);
        WaitFlag<HardEvent::V_MTE2>(0);
        DataCopy(tiles.result, in, 16);
    }
    Reduce(tiles, how);
    if (how == kSumThenLoad) {
        DataCopy(tiles.result, in, 16);
        PipeBarrier<PIPE_ALL>();
    }
    DataCopy(out, tiles.result, 16);
    Adds(LocalTensor<float>(TPosition::VECCALC, 16384, 8), tiles.result, 1.0F, 8);
}
