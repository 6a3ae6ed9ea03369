// SPDX-License-Identifier: Apache-2.0
// float -> half and bfloat16_t -> float by the scalar unit, element by element (what no real kernel should do).
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void scalar_types(GM_ADDR x, GM_ADDR h, GM_ADDR b, GM_ADDR back, int64_t count) {
    GlobalTensor<float> source;
    GlobalTensor<half> halves;
    GlobalTensor<bfloat16_t> brains;
    GlobalTensor<float> widened;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), count);
    halves.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(h), count);
    brains.SetGlobalBuffer(reinterpret_cast<__gm__ bfloat16_t*>(b), count);
    widened.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(back), 2 * count);
    for (int64_t i = 0; i < count; ++i) {
        const half narrow = source.GetValue(i);
        const bfloat16_t brain = source(i);
        halves.SetValue(i, narrow);
        brains(i) = brain;
        widened.SetValue(i, float(narrow));
        widened.SetValue(count + i, float(brain));
    }
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(widened);
}
