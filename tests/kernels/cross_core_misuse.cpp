// SPDX-License-Identifier: Apache-2.0
// One misuse of cross-core flags per `which`; 0 is a correct meeting of all cores of a type.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void cross_core_misuse(int64_t which) {
    constexpr pipe_t kOwn = g_coreType == AIC ? PIPE_FIX : PIPE_MTE3;
    constexpr pipe_t kForeign = g_coreType == AIC ? PIPE_V : PIPE_FIX;
    switch (which) {
        case 0:
            CrossCoreSetFlag<0, kOwn>(4);
            CrossCoreWaitFlag(4);
            break;
        case 1:
            CrossCoreSetFlag<3, kOwn>(4);
            break;
        case 2:
            CrossCoreSetFlag<0, kOwn>(16);
            break;
        case 3:
            CrossCoreWaitFlag(16);
            break;
        case 4:
            CrossCoreSetFlag<0, PIPE_S>(4);
            break;
        case 5:
            CrossCoreSetFlag<0, PIPE_ALL>(4);
            break;
        case 6:
            CrossCoreSetFlag<0, kForeign>(4);
            break;
        case 7:
            CrossCoreSetFlag<1, kOwn>(4);
            break;
        case 8:
            CrossCoreSetFlag<2, kOwn>(4);
            break;
        case 9:  // sixteen sets of the first block before the second has set once
            for (int i = 0; i < 16 && GetBlockIdx() == 0; ++i) {
                CrossCoreSetFlag<0, kOwn>(4);
            }
            break;
        case 10:  // the second block never takes part
            if (GetBlockIdx() == 0) {
                CrossCoreSetFlag<0, kOwn>(4);
            }
            break;
        case 11:
            CrossCoreSetFlag<0, kOwn>(15);
            CrossCoreWaitFlag(15);
            break;
        case 12: {
            GlobalTensor<int32_t> flags;
            LocalTensor<int32_t> local;
            SyncAll(flags, local, 1);
            break;
        }
        default:
            break;
    }
}
