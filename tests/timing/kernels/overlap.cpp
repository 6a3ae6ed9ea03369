// SPDX-License-Identifier: Apache-2.0
// What timed mode has to notice: products and stores of one accumulator ordered by flags or by unitFlag, loads through
// and around L2, stores that add, vector calls that set the mask and such that do not.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint16_t kRows = 128;
constexpr uint32_t kElements = kRows * kRows;
constexpr uint32_t kTile = 4096;  // floats

MmadParams Product(uint8_t unit_flag) {
    MmadParams mmad;
    mmad.m = kRows;
    mmad.n = kRows;
    mmad.k = kRows;
    mmad.cmatrixInitVal = true;
    mmad.unitFlag = unit_flag;
    return mmad;
}

FixpipeParamsV220 Store(uint8_t unit_flag) {
    FixpipeParamsV220 store;
    store.nSize = kRows;
    store.mSize = kRows;
    store.srcStride = kRows;
    store.dstStride = kRows;
    store.unitFlag = unit_flag;
    return store;
}

}  // namespace

// `count` products of the same operands, each stored to its own place.
extern "C" __global__ __aicore__ void overlap_products(GM_ADDR operands, GM_ADDR results, uint32_t count,
                                                       uint32_t units) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    LocalTensor<half> l1(TPosition::A1, 0, kElements);
    LocalTensor<half> left(TPosition::A2, 0, kElements);
    LocalTensor<half> right(TPosition::B2, 0, kElements);
    LocalTensor<float> sum(TPosition::CO1, 0, kElements);
    GlobalTensor<half> source;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(operands));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(results));
    DataCopy(l1, source, kElements);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData2DParams load;
    load.repeatTimes = kElements / 256;
    load.srcStride = 1;
    LoadData(left, l1, load);
    LoadData(right, l1, load);
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    const uint8_t unit_flag = units != 0 ? 3 : 0;
    for (uint32_t i = 0; i < count; ++i) {
        Mmad(sum, left, right, Product(unit_flag));
        if (units == 0) {
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
        }
        Fixpipe(target[i * kElements], sum, Store(unit_flag));
        if (units == 0) {
            SetFlag<HardEvent::FIX_M>(0);
            WaitFlag<HardEvent::FIX_M>(0);
        }
    }
}

// Reads the same tile twice and stores it once: plainly, or as an addition.
extern "C" __global__ __aicore__ void overlap_moves(GM_ADDR x, GM_ADDR y, uint32_t around, uint32_t adds) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    LocalTensor<float> tile(TPosition::VECCALC, 0, kTile);
    GlobalTensor<float> source;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    if (around != 0) {
        source.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    }
    DataCopy(tile, source, kTile);
    PipeBarrier<PIPE_MTE2>();
    DataCopy(tile, source, kTile);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    if (adds != 0) {
        SetAtomicAdd<float>();
    }
    DataCopy(target, tile, kTile);
    if (adds != 0) {
        SetAtomicNone();
    }
}

// Many small additions: the scalar unit cannot keep up when each sets the mask as well.
extern "C" __global__ __aicore__ void overlap_masks(GM_ADDR y, uint32_t count, uint32_t sets) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    LocalTensor<float> tile(TPosition::VECCALC, 0, 64);
    GlobalTensor<float> target;
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    Duplicate(tile, 0.0f, 64);
    PipeBarrier<PIPE_V>();
    const UnaryRepeatParams step{1, 1, 8, 8};
    SetVectorMask<float, MaskMode::NORMAL>(0, ~uint64_t{0});
    for (uint32_t i = 0; i < count; ++i) {
        if (sets != 0) {
            Adds<float, true>(tile, tile, 1.0f, uint64_t{64}, 1, step);
        } else {
            Adds<float, false>(tile, tile, 1.0f, MASK_PLACEHOLDER, 1, step);
        }
    }
    ResetMask();
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(target, tile, 64);
}
