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

// An event between two pipes, unless it is the one to leave out.
template <HardEvent event>
void Order(bool left_out, int32_t id = 0) {
    if (!left_out) {
        SetFlag<event>(id);
        WaitFlag<event>(id);
    }
}

// ND to NZ: columns of 16, each a block of rows * 32 bytes.
void LoadMatrix(const LocalTensor<half>& l1, GlobalTensor<half> matrix, int32_t rows, int32_t columns) {
    Nd2NzParams to_nz;
    to_nz.ndNum = 1;
    to_nz.nValue = rows;
    to_nz.dValue = columns;
    to_nz.srcNdMatrixStride = 0;
    to_nz.srcDValue = columns;
    to_nz.dstNzC0Stride = rows;
    to_nz.dstNzNStride = 1;
    to_nz.dstNzMatrixStride = 0;
    DataCopy(l1, matrix, to_nz);
}

void LoadOperands(const LocalTensor<half>& left0, const LocalTensor<half>& right0, const LocalTensor<half>& left1,
                  const LocalTensor<half>& right1, int32_t rows) {
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
}

void Multiply(const LocalTensor<float>& sum, const LocalTensor<half>& left0, const LocalTensor<half>& right0,
              int32_t rows, bool barrier) {
    for (int32_t step = 0; step < 2; ++step) {
        MmadParams mmad;
        mmad.m = rows;
        mmad.n = kColumns;
        mmad.k = kStep;
        mmad.cmatrixInitVal = step == 0;
        Mmad(sum, left0[step * rows * kStep], right0[step * kStep * kColumns], mmad);
        if (barrier) {
            PipeBarrier<PIPE_M>();
        }
    }
}

void Store(GlobalTensor<float> product, const LocalTensor<float>& sum, int32_t rows) {
    FixpipeParamsV220 store;
    store.nSize = kColumns;
    store.mSize = rows;
    store.srcStride = rows;
    store.dstStride = kColumns;
    Fixpipe<float, float, CFG_ROW_MAJOR>(product, sum, store);
}

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
    constexpr int32_t kFree = 3;  // M_MTE1 0..2 belong to TPipe
    for (int32_t round = 0; round < 2; ++round) {
        Order<HardEvent::MTE1_MTE2>(round == 0 || defect == kL1ReusedEarly);
        LoadMatrix(l1a.Get<half>(), left, rows, 2 * kStep);
        LoadMatrix(l1b.Get<half>(), right, 2 * kStep, kColumns);
        Order<HardEvent::MTE2_MTE1>(defect == kNoLoadToL0);
        Order<HardEvent::FIX_M>(round == 0 || defect == kL0CReusedEarly);
        Order<HardEvent::M_MTE1>(round == 0 || defect == kL0ReusedEarly, kFree);
        LoadOperands(l0a.Get<half>(), l0b.Get<half>(), l1a.Get<half>(), l1b.Get<half>(), rows);
        Order<HardEvent::MTE1_M>(defect == kNoL0ToCube);
        Multiply(l0c.Get<float>(), l0a.Get<half>(), l0b.Get<half>(), rows, defect != kNoAccumulateBarrier);
        Order<HardEvent::M_FIX>(defect == kNoCubeToFixpipe);
        Store(product[round * rows * kColumns], l0c.Get<float>(), rows);
    }
}
