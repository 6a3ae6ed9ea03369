// SPDX-License-Identifier: Apache-2.0
// Copies that cut slices or change a layout, the forms with enhanced parameters, and the registers of atomic stores.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void move_layouts(GM_ADDR x, GM_ADDR y, GM_ADDR registers) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        TBuf<TPosition::VECCALC> ub;
        pipe.InitBuffer(ub, 2048);
        LocalTensor<float> tile = ub.Get<float>();
        GlobalTensor<float> in;
        in.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 261);
        GlobalTensor<float> out;
        out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), 1024);
        const SliceInfo source[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}};
        const SliceInfo packed[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};
        DataCopy(tile, in, packed, source, 2);
        PipeBarrier<PIPE_ALL>();
        DataCopy(out, tile, packed, packed, 2);  // 96 values
        // The same slices with the shapes of the tensors.
        const uint32_t shape[] = {48, 2};
        const SliceInfo unnamed[] = {{0, 47, 0, 3}, {0, 1, 0, 1}};
        tile.SetShapeInfo(ShapeInfo(2, shape));
        GlobalTensor<float> second = out[96];
        second.SetShapeInfo(ShapeInfo(2, shape));
        DataCopy(second, tile, unnamed, unnamed, 2);  // 96 values
        // Six rows of 16 as three rows of 32: two strips of three rows.
        DataCopy(out[192], tile, Nz2NdParamsFull(1, 3, 32, 1, 3, 32, 1));  // 96 values
        PipeBarrier<PIPE_ALL>();
        DataCopyEnhancedParams enhanced;
        DataCopy(tile, in, DataCopyParams(1, 4, 0, 0), enhanced);
        PipeBarrier<PIPE_ALL>();
        DataCopy(tile[256], tile, DataCopyParams(1, 4, 0, 0), enhanced);
        PipeBarrier<PIPE_ALL>();
        DataCopy(out[288], tile[256], DataCopyParams(1, 4, 0, 0), enhanced);  // 32 values
        // Rows of 12 of 16 values become two groups of 8.
        LocalTensor<int32_t> groups = ub.Get<int32_t>();
        GlobalTensor<int32_t> words;
        words.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x), 261);
        DataCopy(groups, words, Nd2NzParams(1, 4, 16, 0, 20, 4, 1, 16));
        PipeBarrier<PIPE_ALL>();
        GlobalTensor<int32_t> third;
        third.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y) + 320, 64);
        SetAtomicType<int32_t>();
        DataCopy(third, groups, 64);
        DisableDmaAtomic();
        SetStoreAtomicConfig<AtomicDtype::ATOMIC_F16, AtomicOp::ATOMIC_SUM>();
        SetStoreAtomicConfig<ATOMIC_S32, ATOMIC_SUM>();
        uint16_t type = 0;
        uint16_t operation = 7;
        GetStoreAtomicConfig(type, operation);
        GlobalTensor<int64_t> values;
        values.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(registers), 8);
        values.SetValue(0, type);
        values.SetValue(1, operation);
        DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE>(values);
        PipeBarrier<PIPE_ALL>();
    }
}
