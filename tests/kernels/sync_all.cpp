// SPDX-License-Identifier: Apache-2.0
// Every vector core writes its row, all meet, every core reads the row of the next one. `how` chooses the meeting.
#include "cube_store.h"

using namespace AscendC;

namespace {

constexpr uint32_t kRow = 64;

enum How : int32_t {
    kNothing = 0,
    kSyncAllVectors = 1,
    kSyncAllMix = 2,    // cube cores take part
    kModeZero = 3,      // CrossCoreSetFlag<0>
    kModeOne = 4,       // the two vector cores of a block
    kSoft = 5,          // the form with flags in global memory
    kNobodyElse = 6,    // only block 0 calls SyncAll
    kVectorsOfMix = 7,  // mode 0 by the vector cores of a mix kernel
};

}  // namespace

extern "C" __global__ __aicore__ void sync_all(GM_ADDR exchange, GM_ADDR y, GM_ADDR flags, int64_t how) {
    if ASCEND_IS_AIC {
        if (how == kSyncAllMix) {
            SyncAll<false>();
        }
        return;
    }
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 2 * kRow * sizeof(float));
    LocalTensor<float> mine = buffer.Get<float>();
    LocalTensor<float> other = mine[kRow];
    GlobalTensor<float> rows;
    GlobalTensor<float> target;
    GlobalTensor<int32_t> sync;
    rows.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(exchange));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    sync.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(flags));
    const int64_t core = GetBlockIdx();
    const int64_t all = GetBlockNum() * GetSubBlockNum();
    const int64_t next = how == kModeOne ? (core ^ 1) : (core + 1) % all;

    Duplicate(mine, float(core), kRow);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(rows[core * kRow], mine, kRow);
    switch (how) {
        case kSyncAllVectors:
            SyncAll<true>();
            break;
        case kSyncAllMix:
            SyncAll<false>();
            break;
        case kModeZero:
        case kVectorsOfMix:
            CrossCoreSetFlag<0, PIPE_MTE3>(4);
            CrossCoreWaitFlag(4);
            break;
        case kModeOne:
            CrossCoreSetFlag<1, PIPE_MTE3>(4);
            CrossCoreWaitFlag(4);
            break;
        case kSoft:
            SyncAll(sync, mine.ReinterpretCast<int32_t>());
            break;
        case kNobodyElse:
            if (core == 0) {
                SyncAll<true>();
            }
            break;
        default:
            break;
    }
    DataCopy(other, rows[next * kRow], kRow);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(target[core * kRow], other, kRow);
}
