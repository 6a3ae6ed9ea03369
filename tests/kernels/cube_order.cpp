// SPDX-License-Identifier: Apache-2.0
// Two instructions of one pipe of a cube core on the same bytes. `barrier` puts a barrier of that pipe between them.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

void LoadTwice(const LocalTensor<half>& l0a, const LocalTensor<half>& l1, bool barrier) {
    LoadData2DParams load;
    load.repeatTimes = 1;
    load.srcStride = 1;
    LoadData(l0a, l1, load);
    if (barrier) {
        PipeBarrier<PIPE_MTE1>();
    }
    LoadData(l0a, l1[256], load);
}

void MultiplyTwice(const LocalTensor<float>& l0c, const LocalTensor<half>& l0a, const LocalTensor<half>& l0b,
                   bool accumulates, bool barrier) {
    MmadParams mmad;
    mmad.m = 16;
    mmad.n = 16;
    mmad.k = 16;
    mmad.cmatrixInitVal = true;
    Mmad(l0c, l0a, l0b, mmad);
    if (barrier) {
        PipeBarrier<PIPE_M>();
    }
    mmad.cmatrixInitVal = !accumulates;
    Mmad(l0c, l0a, l0b, mmad);
}

FixpipeParamsV220 StoreParams() {
    FixpipeParamsV220 store;
    store.nSize = 16;
    store.mSize = 16;
    store.srcStride = 16;
    store.dstStride = 16;
    return store;
}

void StoreTwice(GlobalTensor<float> y, const LocalTensor<float>& l0c, bool barrier) {
    Fixpipe<float, float, CFG_ROW_MAJOR>(y, l0c, StoreParams());
    if (barrier) {
        PipeBarrier<PIPE_FIX>();
    }
    Fixpipe<float, float, CFG_ROW_MAJOR>(y, l0c, StoreParams());
}

// Scales in the Fixpipe buffer: with `rewrites` those that a store has used are replaced, otherwise the store uses what
// was just copied.
void ScaledStore(GlobalTensor<half> y, const LocalTensor<int32_t>& l0c, const LocalTensor<uint64_t>& scales,
                 const LocalTensor<uint64_t>& l1, bool rewrites, bool barrier) {
    DataCopyCO12DstParams store;
    store.nSize = 16;
    store.mSize = 16;
    store.srcStride = 16;
    store.dstStride = 16;
    store.quantPre = QuantMode_t::VDEQF16;
    store.nz2ndEn = true;
    SetFixpipeNz2ndFlag(1, 1, 1);
    SetFixPipeConfig(scales);
    DataCopy(scales, l1, 16);
    if (rewrites || barrier) {
        PipeBarrier<PIPE_FIX>();
    }
    DataCopy(y, l0c, store);
    if (rewrites) {
        if (barrier) {
            PipeBarrier<PIPE_FIX>();
        }
        DataCopy(scales, l1, 16);
    }
}

}  // namespace

extern "C" __global__ __aicore__ void cube_order(GM_ADDR x, GM_ADDR y, int64_t which, int64_t barrier) {
    TPipe pipe;
    TBuf<TPosition::A1> l1_buffer;
    TBuf<TPosition::A2> l0a_buffer;
    TBuf<TPosition::B2> l0b_buffer;
    TBuf<TPosition::CO1> l0c_buffer;
    TBuf<TPosition::C2PIPE2GM> scale_buffer;
    pipe.InitBuffer(l1_buffer, 1024);
    pipe.InitBuffer(l0a_buffer, 512);
    pipe.InitBuffer(l0b_buffer, 512);
    pipe.InitBuffer(l0c_buffer, 1024);
    pipe.InitBuffer(scale_buffer, 128);
    LocalTensor<half> l1 = l1_buffer.Get<half>();
    LocalTensor<half> l0a = l0a_buffer.Get<half>();
    LocalTensor<half> l0b = l0b_buffer.Get<half>();
    LocalTensor<float> l0c = l0c_buffer.Get<float>();
    GlobalTensor<half> source;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    DataCopy(l1, source, 512);
    PipeBarrier<PIPE_ALL>();
    LoadTwice(l0a, l1, which != 0 || barrier != 0);
    LoadTwice(l0b, l1, true);
    PipeBarrier<PIPE_ALL>();
    const bool multiplies = which == 1 || which == 2;
    MultiplyTwice(l0c, l0a, l0b, which == 2, !multiplies || barrier != 0);
    PipeBarrier<PIPE_ALL>();
    if (which == 3) {
        StoreTwice(target, l0c, barrier != 0);
    } else if (which >= 4) {
        GlobalTensor<half> half_target;
        half_target.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
        ScaledStore(half_target, l0c_buffer.Get<int32_t>(), scale_buffer.Get<uint64_t>(), l1_buffer.Get<uint64_t>(),
                    which == 5, barrier != 0);
    }
}
