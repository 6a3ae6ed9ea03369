// SPDX-License-Identifier: Apache-2.0
// One instruction of the cube core again and again, around one product C = A B that is computed for real: its load to
// L0A, to L0B, its Mmad, its store.
#include "matmul_parts.h"

using namespace AscendC;

namespace {

enum Repeated : int32_t { kLeft = 0, kRight = 1, kMultiply = 2, kStore = 3 };

constexpr int32_t kFractal = 16;
constexpr int32_t kFractalElements = kFractal * kFractal;

// k is one fractal: both operands lie in L1 as they do in L0, and one instruction loads them.
void LoadAll(const LocalTensor<half>& target, const LocalTensor<half>& source, int32_t fractals) {
    LoadData2DParams params;
    params.repeatTimes = fractals;
    params.srcStride = 1;
    LoadData(target, source, params);
}

}  // namespace

// `waits`: a store waits for the one before it.
// a: rows x 16, b: columns x 16 (its transpose is multiplied), c: rows x columns.
extern "C" __global__ __aicore__ void cube_chain(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t rows, int32_t columns,
                                                 int32_t repeated, int32_t count, int32_t waits) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> l0a;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
    const int32_t left_size = rows * kFractal;
    const int32_t right_size = columns * kFractal;
    pipe.InitBuffer(l1, (left_size + right_size) * sizeof(half));
    pipe.InitBuffer(l0a, left_size * sizeof(half));
    pipe.InitBuffer(l0b, right_size * sizeof(half));
    pipe.InitBuffer(l0c, rows * columns * sizeof(float));
    GlobalTensor<half> left;
    GlobalTensor<half> right;
    GlobalTensor<float> product;
    left.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
    right.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    product.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c));
    const LocalTensor<half> left1 = l1.Get<half>();
    const LocalTensor<half> right1 = left1[left_size];
    matmul_parts::ToNz(left1, left, rows, kFractal, kFractal, rows);
    matmul_parts::ToNz(right1, right, columns, kFractal, kFractal, columns);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    for (int32_t i = 0; i < (repeated == kLeft ? count : 1); ++i) {
        LoadAll(l0a.Get<half>(), left1, left_size / kFractalElements);
    }
    for (int32_t i = 0; i < (repeated == kRight ? count : 1); ++i) {
        LoadAll(l0b.Get<half>(), right1, right_size / kFractalElements);
    }
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams mmad;
    mmad.m = rows;
    mmad.n = columns;
    mmad.k = kFractal;
    mmad.cmatrixInitVal = true;
    for (int32_t i = 0; i < (repeated == kMultiply ? count : 1); ++i) {
        Mmad(l0c.Get<float>(), l0a.Get<half>(), l0b.Get<half>(), mmad);
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 store;
    store.nSize = columns;
    store.mSize = rows;
    store.srcStride = rows;
    store.dstStride = columns;
    const int32_t stores = repeated == kStore ? count : 1;
    for (int32_t i = 0; i < stores; ++i) {
        Fixpipe<float, float, CFG_ROW_MAJOR>(product[int64_t(i) * rows * columns], l0c.Get<float>(), store);
        if (waits != 0) {
            PipeBarrier<PIPE_FIX>();
        }
    }
}
