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

struct Pipeline {
    GlobalTensor<float> source;
    GlobalTensor<float> target;
    LocalTensor<float> input;
    LocalTensor<float> output;
    int64_t tiles;
    int64_t defect;

    bool events() const { return defect != kAllBarrierInstead; }

    template <HardEvent event>
    void Set(int32_t slot, Defect left_out) {
        if (events() && defect != left_out) {
            SetFlag<event>(slot);
        }
    }
    template <HardEvent event>
    void Wait(int32_t slot, Defect left_out) {
        if (events() && defect != left_out) {
            WaitFlag<event>(slot);
        }
    }

    void Load(int64_t tile) {
        const int32_t slot = tile % kSlots;
        LocalTensor<float> in = input[slot * kTile];
        Wait<HardEvent::V_MTE2>(slot, kInputReusedEarly);
        if (tile == 0 && (defect == kOverlappingLoads || defect == kNone)) {
            DataCopy(in, source[kTile], kTile);
            if (defect == kNone) {
                PipeBarrier<PIPE_MTE2>();
            }
        }
        DataCopy(in, source[tile * kTile], kTile);
        Set<HardEvent::MTE2_V>(slot, kNoLoadToVector);
    }

    void Compute(int64_t tile) {
        const int32_t slot = tile % kSlots;
        // With kWrongId both loads are under way; the event of the earlier one says nothing about the later one.
        LocalTensor<float> in = input[(defect == kWrongId && tile + 1 < tiles ? 1 - slot : slot) * kTile];
        LocalTensor<float> out = output[slot * kTile];
        Wait<HardEvent::MTE2_V>(slot, kNoLoadToVector);
        Wait<HardEvent::MTE3_V>(slot, kOutputReusedEarly);
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
        Set<HardEvent::V_MTE2>(slot, kInputReusedEarly);
        Set<HardEvent::V_MTE3>(slot, kNoVectorToStore);
        Wait<HardEvent::V_MTE3>(slot, kNoVectorToStore);
    }

    void Store(int64_t tile) {
        const int32_t slot = tile % kSlots;
        LocalTensor<float> out = output[slot * kTile];
        DataCopy(target[tile * kTile], out, kTile);
        if (tile == 0 && (defect == kOverlappingStores || defect == kNone)) {
            if (defect == kNone) {
                PipeBarrier<PIPE_MTE3>();
            }
            DataCopy(target[tile * kTile], out, kTile);
        }
        Set<HardEvent::MTE3_V>(slot, kOutputReusedEarly);
    }
};

}  // namespace

extern "C" __global__ __aicore__ void event_pipeline(GM_ADDR x, GM_ADDR y, int64_t tiles, int64_t defect) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> input;
    TBuf<TPosition::VECCALC> output;
    pipe.InitBuffer(input, kSlots * kTile * sizeof(float));
    pipe.InitBuffer(output, kSlots * kTile * sizeof(float));
    Pipeline work;
    work.tiles = tiles;
    work.defect = defect;
    work.source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), tiles * kTile);
    work.target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), tiles * kTile);
    work.input = input.Get<float>();
    work.output = output.Get<float>();
    for (int32_t slot = 0; slot < kSlots; ++slot) {
        work.Set<HardEvent::V_MTE2>(slot, kInputReusedEarly);
        work.Set<HardEvent::MTE3_V>(slot, kOutputReusedEarly);
    }
    work.Load(0);
    for (int64_t tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            work.Load(tile + 1);
        }
        if (!work.events()) {
            PipeBarrier<PIPE_ALL>();
        }
        work.Compute(tile);
        if (!work.events()) {
            PipeBarrier<PIPE_ALL>();
        }
        work.Store(tile);
    }
    for (int32_t slot = 0; slot < kSlots; ++slot) {
        work.Wait<HardEvent::V_MTE2>(slot, kInputReusedEarly);
        work.Wait<HardEvent::MTE3_V>(slot, kOutputReusedEarly);
    }
}
