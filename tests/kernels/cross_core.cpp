// SPDX-License-Identifier: Apache-2.0
// A cube core and its vector cores pass tiles through a ring of two slots in global memory: cube writes a slot, both
// vector cores read half of it each and free it. `defect` breaks one piece of that protocol.
#include "cube_store.h"

using namespace AscendC;

namespace {

constexpr uint16_t kFull = 0;
constexpr uint16_t kEmpty = 1;
constexpr int32_t kSlots = 2;
constexpr uint32_t kTile = 256;

enum Defect : int32_t {
    kNone = 0,
    kNoWaitFull = 1,       // vector cores do not wait for the cube core
    kWrongSetPipe = 2,     // the cube core sets the flag from MTE2 instead of FIX
    kSlotReusedEarly = 3,  // nobody tells that a slot is free
    kNoSetFull = 4,        // vector cores wait for ever
    kOneVectorSilent = 5,  // AIV1 never frees a slot, so the cube core waits for ever
    kExtraSet = 6,         // one set too many: left over at the end
    kNoVectorOrder = 7,    // a vector core frees the slot from V instead of MTE2
    kFloodFlag = 8,        // sixteen sets before anybody waits
    kMixedModes = 9,       // the same flag in mode 2 and mode 0
    kReservedFlag = 10,    // flag 12 belongs to SyncAll
};

}  // namespace

extern "C" __global__ __aicore__ void cross_core(GM_ADDR left, GM_ADDR right, GM_ADDR ring, GM_ADDR y, int64_t tiles,
                                                 int64_t defect) {
    TPipe pipe;
    GlobalTensor<half> a;
    GlobalTensor<half> b;
    GlobalTensor<float> slots;
    a.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(left));
    b.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(right));
    slots.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(ring));
    const int64_t block = GetBlockIdx() / GetSubBlockNum();
    slots = slots[block * kSlots * kTile];
    if ASCEND_IS_AIC {
        CubeStore store(pipe);
        if (defect == kFloodFlag) {
            for (int i = 0; i < 16; ++i) {
                CrossCoreSetFlag<2, PIPE_FIX>(kFull);
            }
        }
        for (int64_t tile = 0; tile < tiles; ++tile) {
            if (tile >= kSlots && defect != kSlotReusedEarly) {
                CrossCoreWaitFlag(kEmpty);
            }
            store.Run(slots[tile % kSlots * kTile], a[(block * tiles + tile) * kTile], b);
            if (defect == kWrongSetPipe) {
                CrossCoreSetFlag<2, PIPE_MTE2>(kFull);
            } else if (defect != kNoSetFull) {
                CrossCoreSetFlag<2, PIPE_FIX>(kFull);
            }
        }
        for (int64_t tile = 0; tile < tiles && tile < kSlots && defect != kSlotReusedEarly; ++tile) {
            CrossCoreWaitFlag(kEmpty);
        }
        if (defect == kExtraSet) {
            CrossCoreSetFlag<2, PIPE_FIX>(5);
        }
        if (defect == kMixedModes) {
            CrossCoreSetFlag<0, PIPE_FIX>(6);
            CrossCoreSetFlag<2, PIPE_FIX>(6);
        }
        if (defect == kReservedFlag) {
            CrossCoreSetFlag<2, PIPE_FIX>(12);
        }
    }
    if ASCEND_IS_AIV {
        TBuf<> buffer;
        pipe.InitBuffer(buffer, kTile / 2 * sizeof(float));
        LocalTensor<float> half_tile = buffer.Get<float>();
        GlobalTensor<float> target;
        target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
        const uint32_t part = GetSubBlockIdx() * (kTile / 2);
        for (int64_t tile = 0; tile < tiles; ++tile) {
            if (defect != kNoWaitFull) {
                CrossCoreWaitFlag(kFull);
            }
            if (tile > 0) {
                SetFlag<HardEvent::MTE3_MTE2>(0);
                WaitFlag<HardEvent::MTE3_MTE2>(0);
            }
            DataCopy(half_tile, slots[tile % kSlots * kTile + part], kTile / 2);
            SetFlag<HardEvent::MTE2_MTE3>(0);
            WaitFlag<HardEvent::MTE2_MTE3>(0);
            DataCopy(target[(block * tiles + tile) * kTile + part], half_tile, kTile / 2);
            if (defect == kNoVectorOrder) {
                CrossCoreSetFlag<2, PIPE_V>(kEmpty);
            } else if (defect != kSlotReusedEarly && !(defect == kOneVectorSilent && GetSubBlockIdx() == 1)) {
                CrossCoreSetFlag<2, PIPE_MTE2>(kEmpty);
            }
        }
        if (defect == kReservedFlag) {
            CrossCoreWaitFlag(12);
        }
    }
}
