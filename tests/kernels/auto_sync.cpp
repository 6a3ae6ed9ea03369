// SPDX-License-Identifier: Apache-2.0
// Dependent calls of a vector core without the synchronisation between them: 1 to 19 are what the vendor's compiler
// orders by itself, from 20 on the kernel's own duty.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t kCount = 64;

struct Operands {
    GlobalTensor<float> x;
    GlobalTensor<float> y;
    LocalTensor<float> a;
    LocalTensor<float> b;
};

void Ordered(int64_t which, const Operands& on) {
    switch (which) {
        case 1:  // V to V, read after write
            Muls(on.a, on.a, 2.0f, kCount);
            Adds(on.b, on.a, 1.0f, kCount);
            break;
        case 2:  // V to V, write after write
            Duplicate(on.a, 3.0f, kCount);
            Duplicate(on.a, 4.0f, kCount);
            break;
        case 3:  // V to S
            Duplicate(on.a, 3.0f, kCount);
            (void)on.a.GetValue(5);
            break;
        case 4:  // S to V
            on.a.SetValue(5, 3.0f);
            Adds(on.b, on.a, 1.0f, kCount);
            break;
        case 5:  // MTE2 to S
            DataCopy(on.a, on.x, kCount);
            (void)on.a.GetValue(5);
            break;
        case 6:  // S to MTE2
            on.a.SetValue(5, 3.0f);
            DataCopy(on.a, on.x, kCount);
            break;
        case 7:  // S to MTE3
            on.a.SetValue(5, 3.0f);
            DataCopy(on.y, on.a, kCount);
            break;
        case 8:  // MTE3 to S
            DataCopy(on.y, on.a, kCount);
            on.a.SetValue(5, 3.0f);
            break;
        case 9:  // MTE3 to S through global memory
            DataCopy(on.y, on.a, kCount);
            (void)on.y.GetValue(5);
            break;
        case 10:  // V to S: the scalar unit issues the store only after it has waited
            Duplicate(on.a, 3.0f, kCount);
            (void)on.a.GetValue(5);
            DataCopy(on.y, on.a, kCount);
            break;
        case 11:  // what V had waited for is known along with it
            DataCopy(on.b, on.x, kCount);
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            Duplicate(on.a, 3.0f, kCount);
            Duplicate(on.a[kCount], 3.0f, kCount);
            (void)on.a.GetValue(5);
            DataCopy(on.y, on.b, kCount);
            break;
        case 12:  // the same by operator()
            Duplicate(on.a, 3.0f, kCount);
            on.a(5) = 3.0f;
            break;
        default:
            break;
    }
}

void Unordered(int64_t which, Operands on) {
    switch (which) {
        case 20:
            DataCopy(on.a, on.x, kCount);
            Adds(on.b, on.a, 1.0f, kCount);
            break;
        case 21:
            Duplicate(on.a, 3.0f, kCount);
            DataCopy(on.y, on.a, kCount);
            break;
        case 22:
            Adds(on.b, on.a, 1.0f, kCount);
            DataCopy(on.a, on.x, kCount);
            break;
        case 23:
            DataCopy(on.y, on.a, kCount);
            Duplicate(on.a, 3.0f, kCount);
            break;
        case 24:  // a barrier is inserted between the first two, which tells MTE3 nothing
            Duplicate(on.a, 3.0f, kCount);
            Muls(on.b, on.a, 2.0f, kCount);
            DataCopy(on.y, on.b, kCount);
            break;
        case 25:
            DataCopy(on.a, on.x, kCount);
            DataCopy(on.a, on.x, kCount);
            break;
        case 26:  // the data cache writes the line, which is none of the calls that the compiler looks at
            on.y.SetValue(5, 3.0f);
            DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(on.y);
            DataCopy(on.a, on.y, kCount);
            break;
        case 27:  // the scalar unit has waited for the first, not for the second
            Duplicate(on.a, 3.0f, kCount);
            Duplicate(on.b, 3.0f, kCount);
            (void)on.a.GetValue(5);
            DataCopy(on.y, on.b, kCount);
            break;
        case 28:  // what V waits for only after the first is not known along with it
            Duplicate(on.a, 3.0f, kCount);
            DataCopy(on.b, on.x, kCount);
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            Duplicate(on.a[kCount], 3.0f, kCount);
            (void)on.a.GetValue(5);
            DataCopy(on.y, on.b, kCount);
            break;
        default:
            break;
    }
}

}  // namespace

extern "C" __global__ __aicore__ void auto_sync(GM_ADDR x, GM_ADDR y, int64_t which) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4 * kCount * sizeof(float));
    Operands on;
    on.x.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), kCount);
    on.y.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), kCount);
    on.a = buffer.Get<float>();
    on.b = on.a[2 * kCount];
    Duplicate(on.a, 1.0f, 4 * kCount);
    PipeBarrier<PIPE_ALL>();
    DataCopy(on.y, on.a, kCount);
    PipeBarrier<PIPE_ALL>();
    Ordered(which, on);
    Unordered(which, on);
}
