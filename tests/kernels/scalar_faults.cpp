// SPDX-License-Identifier: Apache-2.0
// One fault of the scalar unit, or of where an operand lies, per `which`; 0 is correct. Both core types.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void scalar_faults(GM_ADDR x, GM_ADDR y, int64_t which) {
    TPipe pipe;
    GlobalTensor<int32_t> source;
    GlobalTensor<int32_t> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y));
    const auto clean = [](const GlobalTensor<int32_t>& words) {
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(words);
    };
    switch (which) {
        case 0:
            target.SetValue(0, source.GetValue(15));
            clean(target);
            break;
        case 1:
            (void)source.GetValue(16);
            break;
        case 2:
            target.SetValue(16, 1);
            break;
        case 3:
            source.SetValue(0, 1);
            break;
        case 4:
            clean(target[16]);
            break;
        case 5: {
            LocalTensor<int32_t> in_l1(TPosition::A1, 0, 8);
            (void)in_l1.GetValue(0);
            break;
        }
        case 6: {
            LocalTensor<int32_t> in_l1(TPosition::A1, 0, 8);
            in_l1.SetValue(0, 1);
            break;
        }
        case 7: {  // a memory that only the other core type has
            constexpr TPosition kForeign = g_coreType == AIC ? TPosition::VECIN : TPosition::A1;
            LocalTensor<int32_t> foreign(kForeign, 0, 8);
            DataCopy(foreign, source, 8);
            break;
        }
        case 8: {  // 4 KiB behind the last buffer
            LocalTensor<int32_t> local(g_coreType == AIC ? TPosition::A1 : TPosition::VECIN, 0, 8);
            DataCopy(local, source[1 << 20], 8);
            break;
        }
        default:
            break;
    }
}
