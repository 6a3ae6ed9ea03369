// SPDX-License-Identifier: Apache-2.0
// Bit helpers and conversions of the scalar unit: each result one 64-bit word.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void scalar_helpers(GM_ADDR y_address, uint64_t bits, int64_t float_bits) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<int64_t> y;
    y.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(y_address));
    const float value = sim::FloatFromBits(static_cast<uint32_t>(float_bits));
    const int64_t results[] = {
        GetBitCount<0>(bits),
        ScalarGetCountOfValue<1>(bits),
        CountLeadingZero(bits),
        ScalarCountLeadingZero(bits),
        CountBitsCntSameAsSignBit(static_cast<int64_t>(bits)),
        GetSFFValue<0>(bits),
        ScalarGetSFFValue<1>(bits),
        Cast<float, half, RoundMode::CAST_ODD>(value).bits,
        ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(value),
        Cast<float, int32_t, RoundMode::CAST_CEIL>(value),
        Cast<float, int32_t, RoundMode::CAST_FLOOR>(value),
        Cast<float, int32_t, RoundMode::CAST_RINT>(value),
        Cast(value).bits,
        static_cast<int64_t>(sim::FloatBits(Cast(Cast(value)))),
        GetCtrlSpr<48, 48>(),
        GetDataBlockSizeInBytes(),
    };
    for (int i = 0; i < 16; ++i) {
        y.SetValue(i, results[i]);
    }
    DataCacheCleanAndInvalid<int64_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_ALL>(y);
}
