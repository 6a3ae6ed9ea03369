// SPDX-License-Identifier: Apache-2.0
// C = A B for m rows, 32 columns, in two accumulating steps of 16 along k, twice: the pipeline of a cube core with
// single buffers. `defect` leaves one piece of synchronisation out.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

enum Defect : int32_t {
    kNone = 0,
    kNoLoadToL0 = 1,           // MTE2_MTE1
    kNoL0ToCube = 2,           // MTE1_M
    kNoCubeToFixpipe = 3,      // M_FIX
    kL1ReusedEarly = 4,        // MTE1_MTE2
    kL0ReusedEarly = 5,        // M_MTE1
    kL0CReusedEarly = 6,       // FIX_M
    kNoAccumulateBarrier = 7,  // PipeBarrier<PIPE_M> between small accumulations
};

constexpr int32_t kColumns = 32;
constexpr int32_t kStep = 16;

}  // namespace

extern "C" __global__ __aicore__ void cube_product(GM_ADDR a, GM_ADDR b, GM_ADDR c, int64_t rows, int64_t defect) {
    TPipe pipe;
    TBuf<TPosition::A1> l1a;
    TBuf<TPosition::B1> l1b;
    TBuf<TPosition::A2> l0a;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
    pipe.InitBuffer(l1a, rows * 2 * kStep * sizeof(half));
    pipe.InitBuffer(l1b, 2 * kStep * kColumns * sizeof(half));
    pipe.InitBuffer(l0a, 2 * rows * kStep * sizeof(half));
    pipe.InitBuffer(l0b, 2 * kStep * kColumns * sizeof(half));
    pipe.InitBuffer(l0c, rows * kColumns * sizeof(float));
    GlobalTensor<half> left;
    GlobalTensor<half> right;
    GlobalTensor<float> product;
    left.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
    right.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    product.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c));
    LocalTensor<half> left1 = l1a.Get<half>();
    LocalTensor<half> right1 = l1b.Get<half>();
    LocalTensor<half> left0 = l0a.Get<half>();
    LocalTensor<half> right0 = l0b.Get<half>();
    LocalTensor<float> sum = l0c.Get<float>();
    constexpr int32_t kFree = 3;  // M_MTE1 0..2 belong to TPipe
    for (int32_t round = 0; round < 2; ++round) {
        if (round > 0 && defect != kL1ReusedEarly) {
            SetFlag<HardEvent::MTE1_MTE2>(0);
            WaitFlag<HardEvent::MTE1_MTE2>(0);
        }
        // ND to NZ by columns of 16: each is a block of rows * 32 bytes.
        Nd2NzParams to_nz;
        to_nz.ndNum = 1;
        to_nz.nValue = rows;
        to_nz.dValue = 2 * kStep;
        to_nz.srcNdMatrixStride = 0;
        to_nz.srcDValue = 2 * kStep;
        to_nz.dstNzC0Stride = rows;
        to_nz.dstNzNStride = 1;
        to_nz.dstNzMatrixStride = 0;
        DataCopy(left1, left, to_nz);
        to_nz.nValue = 2 * kStep;
        to_nz.dValue = kColumns;
        to_nz.srcDValue = kColumns;
        to_nz.dstNzC0Stride = 2 * kStep;
        DataCopy(right1, right, to_nz);
        if (defect != kNoLoadToL0) {
            SetFlag<HardEvent::MTE2_MTE1>(0);
            WaitFlag<HardEvent::MTE2_MTE1>(0);
        }
        if (round > 0 && defect != kL0CReusedEarly) {
            SetFlag<HardEvent::FIX_M>(0);
            WaitFlag<HardEvent::FIX_M>(0);
        }
        if (round > 0 && defect != kL0ReusedEarly) {
            SetFlag<HardEvent::M_MTE1>(kFree);
            WaitFlag<HardEvent::M_MTE1>(kFree);
        }
        for (int32_t step = 0; step < 2; ++step) {
            LoadData2DParams load;
            load.repeatTimes = rows / 16;
            load.srcStride = 1;
            LoadData(left0[step * rows * kStep], left1[step * rows * kStep], load);
            load.repeatTimes = kColumns / 16;
            load.srcStride = 2;
            load.ifTranspose = true;
            LoadData(right0[step * kStep * kColumns], right1[step * 16 * 16], load);
        }
        if (defect != kNoL0ToCube) {
            SetFlag<HardEvent::MTE1_M>(0);
            WaitFlag<HardEvent::MTE1_M>(0);
        }
        for (int32_t step = 0; step < 2; ++step) {
            MmadParams mmad;
            mmad.m = rows;
            mmad.n = kColumns;
            mmad.k = kStep;
            mmad.cmatrixInitVal = step == 0;
            Mmad(sum, left0[step * rows * kStep], right0[step * kStep * kColumns], mmad);
            if (defect != kNoAccumulateBarrier) {
                PipeBarrier<PIPE_M>();
            }
        }
        if (defect != kNoCubeToFixpipe) {
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
        }
        FixpipeParamsV220 store;
        store.nSize = kColumns;
        store.mSize = rows;
        store.srcStride = rows;
        store.dstStride = kColumns;
        Fixpipe<float, float, CFG_ROW_MAJOR>(product[round * rows * kColumns], sum, store);
    }
}
