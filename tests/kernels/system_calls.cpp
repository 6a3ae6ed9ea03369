// SPDX-License-Identifier: Apache-2.0
// Calls of the system that say something or have no effect here, and the rarer doors to queues and flags.
#include "kernel_operator.h"

using namespace AscendC;

static_assert(BLOCK_CUBE * DEFAULT_C0_SIZE == BYTE_PER_FRACTAL && CUBE_MAX_SIZE == BLOCK_CUBE * BLOCK_CUBE, "fractals");
static_assert(ONE_BLK_FLOAT_NUM == 8 && ONE_BLK_HALF_NUM == 16 && FLOAT_REPEAT_SIZE == 64 && HALF_REPEAT_SIZE == 128,
              "blocks and repeats");
static_assert(TOTAL_L0A_SIZE + TOTAL_L0B_SIZE == TOTAL_L0C_SIZE && TOTAL_VEC_LOCAL_SIZE < TOTAL_UB_SIZE, "memories");

extern "C" __global__ __aicore__ void system_calls(GM_ADDR x, GM_ADDR y) {
    InitSocState();
    SetSyncBaseAddr(0);
    ICachePreLoad(2);
    GlobalTensor<uint64_t> line;
    line.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(x), 8);
    DataCachePreload(line, 0);
    const int64_t before = GetSystemCycle();
    GlobalTensor<int64_t> result;
    result.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(y), 8);
    GlobalTensor<float> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 16);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 64);
    LocalTensor<float> in = queue.AllocTensor<float>();
    DataCopy(in, source, 16);
    queue.EnQue(in);
    LocalTensor<float> out = queue.DeQue<float>();
    TQueSync<PIPE_MTE2, PIPE_S> loaded;
    loaded.SetFlag(0);
    loaded.WaitFlag(0);
    result.SetValue(0, static_cast<int64_t>(out.GetValue(1)));
    queue.FreeTensor(out);
    DataSyncBarrier<MemDsbT::ALL>();
    result.SetValue(1, GetTaskRatio());
    result.SetValue(2, GetSystemCycle() > before);
    result.SetValue(3, GetICachePreloadStatus());
    DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE>(result);
}
