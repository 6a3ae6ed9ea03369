// SPDX-License-Identifier: Apache-2.0
// One vector instruction again and again, each waiting for the one before it (`waits`) or not. Result and sources lie
// in rows of 64 floats; only the last result is kept.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

enum Operation : int32_t {
    kAdd = 0,
    kMax = 1,
    kMul = 2,
    kDiv = 3,
    kExp = 4,
    kLn = 5,
    kRelu = 6,
    kMaxs = 7,
    kMuls = 8,
    kRsqrt = 9,
    kAnd = 10,
    kWholeReduceMax = 11,
    kWholeReduceSum = 12,
    kBlockReduceMax = 13,
    kNarrow = 14,
};

constexpr uint64_t kLanes = 64;
constexpr uint64_t kShorts = 128;

void Do(int32_t operation, const LocalTensor<float>& z, const LocalTensor<float>& x, const LocalTensor<float>& y,
        uint8_t repeats) {
    const BinaryRepeatParams two(1, 1, 1, 8, 8, 8);
    const UnaryRepeatParams one(1, 1, 8, 8);
    switch (operation) {
        case kAdd:
            return Add(z, x, y, kLanes, repeats, two);
        case kMax:
            return Max(z, x, y, kLanes, repeats, two);
        case kMul:
            return Mul(z, x, y, kLanes, repeats, two);
        case kDiv:
            return Div(z, x, y, kLanes, repeats, two);
        case kExp:
            return Exp(z, x, kLanes, repeats, one);
        case kLn:
            return Ln(z, x, kLanes, repeats, one);
        case kRelu:
            return Relu(z, x, kLanes, repeats, one);
        case kMaxs:
            return Maxs(z, x, 1.0F, kLanes, repeats, one);
        case kMuls:
            return Muls(z, x, 2.0F, kLanes, repeats, one);
        case kRsqrt:
            return Rsqrt(z, x, kLanes, repeats, one);
        case kAnd:
            return And(z.ReinterpretCast<int16_t>(), x.ReinterpretCast<int16_t>(), y.ReinterpretCast<int16_t>(),
                       kShorts, repeats, two);
        case kWholeReduceMax:
            return WholeReduceMax(z, x, int32_t(kLanes), repeats, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        case kWholeReduceSum:
            return WholeReduceSum(z, x, int32_t(kLanes), repeats, 1, 1, 8);
        case kBlockReduceMax:
            return BlockReduceMax<float>(z, x, repeats, int32_t(kLanes), 1, 1, 8);
        case kNarrow:
            return Cast(z.ReinterpretCast<half>(), x, RoundMode::CAST_RINT, kLanes, repeats,
                        UnaryRepeatParams(1, 1, 4, 8));
        default:
            return;
    }
}

}  // namespace

extern "C" __global__ __aicore__ void vector_chain(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t operation, uint32_t repeats,
                                                   uint32_t count, int32_t waits) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> memory;
    const uint32_t size = repeats * kLanes;
    pipe.InitBuffer(memory, 4 * size * sizeof(float));
    const LocalTensor<float> a = memory.Get<float>();
    const LocalTensor<float> b = a[size];
    GlobalTensor<float> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    DataCopy(a, source, size);
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    DataCopy(b, source, size);
    const LocalTensor<float> c = a[2 * size];
    const LocalTensor<float> spare = a[3 * size];
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Duplicate(c, 0.0F, size);
    PipeBarrier<PIPE_V>();
    for (uint32_t i = 0; i < count; ++i) {
        Do(operation, waits == 0 && i % 2 == 0 ? spare : c, a, b, uint8_t(repeats));
        if (waits != 0) {
            PipeBarrier<PIPE_V>();
        }
    }
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    GlobalTensor<float> target;
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
    DataCopy(target, c, size);
}
