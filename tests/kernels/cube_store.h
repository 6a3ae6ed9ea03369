// SPDX-License-Identifier: Apache-2.0
// For kernels that need a cube core to write something: a 16 x 16 float tile of x * identity, through every pipe.
#pragma once

#include "kernel_operator.h"

struct CubeStore {
    explicit CubeStore(AscendC::TPipe& pipe) {
        pipe.InitBuffer(l1, 2 * 512);
        pipe.InitBuffer(l0a, 512);
        pipe.InitBuffer(l0b, 512);
        pipe.InitBuffer(l0c, 1024);
    }

    // target = left * right, all 16 x 16; `left` and `right` half in fractal order. Orders its own pipes completely, so
    // that only what the caller adds afterwards is in question.
    void Run(AscendC::GlobalTensor<float> target, AscendC::GlobalTensor<half> left, AscendC::GlobalTensor<half> right) {
        using namespace AscendC;
        LocalTensor<half> tile = l1.Get<half>();
        PipeBarrier<PIPE_ALL>();
        DataCopy(tile, left, 256);
        DataCopy(tile[256], right, 256);
        PipeBarrier<PIPE_ALL>();
        LoadData2DParams load;
        load.repeatTimes = 1;
        load.srcStride = 1;
        LoadData(l0a.Get<half>(), tile, load);
        LoadData(l0b.Get<half>(), tile[256], load);
        PipeBarrier<PIPE_ALL>();
        MmadParams mmad;
        mmad.m = 16;
        mmad.n = 16;
        mmad.k = 16;
        mmad.cmatrixInitVal = true;
        Mmad(l0c.Get<float>(), l0a.Get<half>(), l0b.Get<half>(), mmad);
        PipeBarrier<PIPE_ALL>();
        FixpipeParamsV220 store;
        store.nSize = 16;
        store.mSize = 16;
        store.srcStride = 16;
        store.dstStride = 16;
        Fixpipe<float, float, CFG_ROW_MAJOR>(target, l0c.Get<float>(), store);
    }

    AscendC::TBuf<AscendC::TPosition::A1> l1;
    AscendC::TBuf<AscendC::TPosition::A2> l0a;
    AscendC::TBuf<AscendC::TPosition::B2> l0b;
    AscendC::TBuf<AscendC::TPosition::CO1> l0c;
};
