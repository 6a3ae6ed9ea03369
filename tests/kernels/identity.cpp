// SPDX-License-Identifier: Apache-2.0
// Each core writes what it is into a 64-byte line of its own: AICs first, then AIVs.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void identity(GM_ADDR y, int64_t mix) {
    int64_t row = GetBlockIdx();
    if ASCEND_IS_AIV {
        row += mix != 0 ? GetBlockNum() : 0;
    }
    GlobalTensor<int32_t> line;
    line.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y) + row * 16, 16);
    TPipe pipe;
    int32_t values[16] = {};
    values[0] = g_coreType;
    values[1] = GetBlockIdx();
    values[2] = GetBlockNum();
    values[3] = GetSubBlockIdx();
    values[4] = GetSubBlockNum();
    values[5] = GetTaskRation();
    values[6] = GetTPipePtr() == &pipe;
    // Event ids: the lowest free one, also after one was given back.
    const int32_t first = pipe.AllocEventID<HardEvent::MTE2_MTE3>();
    const int32_t second = pipe.AllocEventID<HardEvent::MTE2_MTE3>();
    pipe.ReleaseEventID<HardEvent::MTE2_MTE3>(first);
    values[7] = first * 100 + second * 10 + pipe.FetchEventID(HardEvent::MTE2_MTE3);
    values[8] = pipe.FetchEventID<HardEvent::MTE2_MTE3>();
    // Buffers follow each other in steps of 32 bytes.
    constexpr TPosition kPosition = g_coreType == AIC ? TPosition::A1 : TPosition::VECCALC;
    TBuf<kPosition> small;
    TBuf<kPosition> next;
    pipe.InitBuffer(small, 33);
    pipe.InitBuffer(next, 64);
    const LocalTensor<half> tensor = next.template Get<half>();
    values[9] = tensor.GetPhyAddr();
    values[10] = tensor.GetSize();
    values[11] = tensor[4].ReinterpretCast<int32_t>().GetPhyAddr();
    values[12] = tensor[4].GetSize();
    values[13] = next.template GetWithOffset<float>(8, 32).GetPhyAddr();
    pipe.Reset();
    pipe.InitBuffer(next, 64);
    values[14] = next.template Get<half>(16).GetPhyAddr() * 100 + next.template Get<half>(16).GetSize();
    LocalMemAllocator<g_coreType == AIC ? Hardware::L1 : Hardware::UB> allocator;
    allocator.Alloc<float>(9);
    values[15] = allocator.Alloc<float, 8>().GetPhyAddr();
    for (int i = 0; i < 16; ++i) {
        line.SetValue(i, values[i]);
    }
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>(line);
}
