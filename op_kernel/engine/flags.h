// SPDX-License-Identifier: Apache-2.0
// Every flag of the engine by name: who waits for what. In-core event ids are per ordered pair of pipes; 6 and 7 are
// not ours. A "free" event is set once for each buffer when the kernel starts and waited for once when it ends.
#pragma once

#include <cstdint>

namespace ascend_attention {

// Cube core <-> its two vector cores (mode 2), each set and waited for exactly once per step; of wide heads the last
// two once per pass over the channels.
struct CrossCoreFlag {
    static constexpr uint16_t kVectorWaitsForScores = 0;   // FIX wrote S of a step to its ring slot
    static constexpr uint16_t kCubeWaitsForProbs = 1;      // MTE3 of both vector cores wrote P of a step
    static constexpr uint16_t kVectorWaitsForPartial = 2;  // FIX wrote P V of a step
    static constexpr uint16_t kCubeWaitsForUpdate = 4;  // MTE2 of both vector cores read P V of a step: wide heads only
    // Between the vector cores of the whole launch (mode 0), once each where cores share row tiles: MTE3 of all wrote
    // the partial result of their first row tile, and of their last one, or they leave none.
    static constexpr uint16_t kVectorsWaitForFirstParts = 3;
    static constexpr uint16_t kVectorsWaitForLastParts = 6;
    // Once at the start, where keys are selected: MTE3 of all vector cores (mode 0) wrote their key lists; and the same
    // passed on to the cube cores, each by its two vector cores (mode 2).
    static constexpr uint16_t kVectorsWaitForLists = 4;
    static constexpr uint16_t kCubeWaitsForLists = 5;
};
constexpr uint8_t kCubeVectorMode = 2;
constexpr uint8_t kAllVectorsMode = 0;

constexpr int32_t kGranuleBuffers = 2;  // each for K and V in L1
constexpr int32_t kProbBuffers = 2;     // P in L1
constexpr int32_t kL0Buffers = 2;
constexpr int32_t kAccumulatorBuffers = 2;

// Cube core, one id per buffer. MTE2_MTE1: it is in L1; MTE1_MTE2: it may be overwritten. Q has none of its own: it is
// loaded between the wait for a free K buffer and the event of the K that is loaded there.
struct CubeEvent {
    static constexpr int32_t kKeys = 0;
    static constexpr int32_t kValues = 2;
    static constexpr int32_t kProbs = 4;
    // MTE1_M: L0A and L0B are filled; M_MTE1: they may be overwritten. TPipe keeps M_MTE1 0, 1 and 2 set on the cube
    // core, from its constructor to its destructor, for the high-level Matmul.
    static constexpr int32_t kL0 = 3;
};
static_assert(CubeEvent::kKeys + kGranuleBuffers <= CubeEvent::kValues, "ids of one pipe pair overlap");
static_assert(CubeEvent::kValues + kGranuleBuffers <= CubeEvent::kProbs, "ids of one pipe pair overlap");
static_assert(CubeEvent::kProbs + kProbBuffers <= 6, "event ids 6 and 7 are reserved");

constexpr int32_t kWideGranules = 3;  // K and V of wide heads in L1

// The same for wide heads; L0 has the events of CubeEvent.
struct WideCubeEvent {
    static constexpr int32_t kGranules = 0;
    static constexpr int32_t kProbs = 3;  // and MTE2_FIX: it has left its slot, which takes scores
    static constexpr int32_t kQuery = 4;  // only MTE1_MTE2: Q is there when the first K of its task is
};
static_assert(WideCubeEvent::kGranules + kWideGranules <= WideCubeEvent::kProbs, "ids of one pipe pair overlap");

constexpr int32_t kChunkBuffers = 2;
constexpr int32_t kStoreBuffers = 2;

// Vector core, one id per buffer.
struct VectorEvent {
    static constexpr int32_t kChunk = 0;  // MTE2_V: what a chunk is loaded with is in UB; V_MTE2: it may be overwritten
    static constexpr int32_t kStore = 0;  // V_MTE3: a store buffer may be stored; MTE3_V: it has been stored
    // Of a split row tile. V_MTE3: some of its running output may be stored; MTE3_V: all of it has been.
    static constexpr int32_t kPart = 2;
};
static_assert(VectorEvent::kStore + kStoreBuffers <= VectorEvent::kPart, "ids of one pipe pair overlap");

}  // namespace ascend_attention
