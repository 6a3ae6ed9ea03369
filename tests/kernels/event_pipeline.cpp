// SPDX-License-Identifier: Apache-2.0
// y = x + x in tiles through two input and two output slots: the textbook pipeline of a vector core. `defect` leaves
// one piece of synchronisation out, so that a test can ask for exactly that finding.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 256;
constexpr int32_t kSlots = 2;

enum Defect : int32_t {
    kNone = 0,
    kNoLoadToVector = 1,     // MTE2_V
    kNoVectorToStore = 2,    // V_MTE3
    kInputReusedEarly = 3,   // V_MTE2
    kOutputReusedEarly = 4,  // MTE3_V
    kNoBarrierRead = 5,      // PipeBarrier<PIPE_V> before reading what V wrote
    kNoBarrierWrite = 6,     // ... before writing it again
    kOverlappingLoads = 7,   // PipeBarrier<PIPE_MTE2> between loads into one place
    kOverlappingStores = 8,  // PipeBarrier<PIPE_MTE3> between stores into one place
    kAllBarrierInstead = 9,  // PIPE_ALL between the stages, no events
    kWrongId = 10,           // waits for the event of the other slot
};

}  // namespace

extern "C" __global__ __aicore__ void event_pipeline(GM_ADDR x, GM_ADDR y, int64_t tiles, int64_t defect) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> input;
    TBuf<TPosition::VECCALC> output;
    pipe.InitBuffer(input, kSlots * kTile * sizeof(float));
    pipe.InitBuffer(output, kSlots * kTile * sizeof(float));
    GlobalTensor<float> source;
    GlobalTensor<float> target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), tiles * kTile);
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), tiles * kTile);
    const bool events = defect != kAllBarrierInstead;
    for (int32_t slot = 0; slot < kSlots && events; ++slot) {
        if (defect != kInputReusedEarly) {
            SetFlag<HardEvent::V_MTE2>(slot);
        }
        if (defect != kOutputReusedEarly) {
            SetFlag<HardEvent::MTE3_V>(slot);
        }
    }
    const auto load = [&](int64_t tile) {
        const int32_t slot = tile % kSlots;
        LocalTensor<float> in = input.Get<float>()[slot * kTile];
        if (events && defect != kInputReusedEarly) {
            WaitFlag<HardEvent::V_MTE2>(slot);
        }
        if (tile == 0 && (defect == kOverlappingLoads || defect == kNone)) {
            DataCopy(in, source[kTile], kTile);
            if (defect == kNone) {
                PipeBarrier<PIPE_MTE2>();
            }
        }
        DataCopy(in, source[tile * kTile], kTile);
        if (events && defect != kNoLoadToVector) {
            SetFlag<HardEvent::MTE2_V>(slot);
        }
    };
    load(0);
    for (int64_t tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            load(tile + 1);
        }
        const int32_t slot = tile % kSlots;
        LocalTensor<float> in = input.Get<float>()[slot * kTile];
        LocalTensor<float> out = output.Get<float>()[slot * kTile];
        if (!events) {
            PipeBarrier<PIPE_ALL>();
        } else {
            if (defect == kWrongId && tile + 1 < tiles) {
                // Both loads are under way; the event of the earlier one says nothing about the later one.
                WaitFlag<HardEvent::MTE2_V>(slot);
                in = input.Get<float>()[(1 - slot) * kTile];
            } else if (defect != kNoLoadToVector) {
                WaitFlag<HardEvent::MTE2_V>(slot);
            }
            if (defect != kOutputReusedEarly) {
                WaitFlag<HardEvent::MTE3_V>(slot);
            }
        }
        Duplicate(out, 1.0f, kTile);
        if (defect != kNoBarrierWrite) {
            PipeBarrier<PIPE_V>();
        }
        Add(out, in, in, kTile);
        if (defect != kNoBarrierRead) {
            PipeBarrier<PIPE_V>();
        }
        if (defect == kNoBarrierRead || defect == kNone) {
            Muls(out, out, 1.0f, kTile);
        }
        if (events && defect != kInputReusedEarly) {
            SetFlag<HardEvent::V_MTE2>(slot);
        }
        if (!events) {
            PipeBarrier<PIPE_ALL>();
        } else if (defect != kNoVectorToStore) {
            SetFlag<HardEvent::V_MTE3>(slot);
            WaitFlag<HardEvent::V_MTE3>(slot);
        }
        DataCopy(target[tile * kTile], out, kTile);
        if (tile == 0 && (defect == kOverlappingStores || defect == kNone)) {
            if (defect == kNone) {
                PipeBarrier<PIPE_MTE3>();
            }
            DataCopy(target[tile * kTile], out, kTile);
        }
        if (events && defect != kOutputReusedEarly) {
            SetFlag<HardEvent::MTE3_V>(slot);
        }
    }
    for (int32_t slot = 0; slot < kSlots && events; ++slot) {
        if (defect != kInputReusedEarly) {
            WaitFlag<HardEvent::V_MTE2>(slot);
        }
        if (defect != kOutputReusedEarly) {
            WaitFlag<HardEvent::MTE3_V>(slot);
        }
    }
}
