// SPDX-License-Identifier: Apache-2.0
// Events, barriers, cross-core flags and the data cache.
#pragma once

#include <cstdint>

#include "ascendc/tensor.h"
#include "machine/core_calls.h"
#include "machine/memory_flag_calls.h"

enum pipe_t {
    PIPE_S = 0,
    PIPE_V = 1,
    PIPE_M = 2,
    PIPE_MTE1 = 3,
    PIPE_MTE2 = 4,
    PIPE_MTE3 = 5,
    PIPE_ALL = 6,
    PIPE_FIX = 10,
};

enum event_t {
    EVENT_ID0 = 0,
    EVENT_ID1,
    EVENT_ID2,
    EVENT_ID3,
    EVENT_ID4,
    EVENT_ID5,
    EVENT_ID6,
    EVENT_ID7,
};

namespace AscendC {

// Named source_destination; the order is that of both generations of the device headers.
enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    MTE2_M,
    M_MTE2,
    V_MTE1,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_FIX,
    FIX_MTE2,
    FIX_S,
    M_S,
    FIX_MTE3,
    MTE1_FIX,
    FIX_MTE1,
    FIX_FIX,
    MAX,
};

struct PipePair {
    sim::Pipe source;
    sim::Pipe target;
};

constexpr PipePair PipesOf(HardEvent event) {
    using sim::Pipe;
    constexpr PipePair kPairs[] = {
        {Pipe::kMte2, Pipe::kMte1},     {Pipe::kMte1, Pipe::kMte2},      {Pipe::kMte1, Pipe::kCube},
        {Pipe::kCube, Pipe::kMte1},     {Pipe::kMte2, Pipe::kVector},    {Pipe::kVector, Pipe::kMte2},
        {Pipe::kMte3, Pipe::kVector},   {Pipe::kVector, Pipe::kMte3},    {Pipe::kCube, Pipe::kVector},
        {Pipe::kVector, Pipe::kCube},   {Pipe::kVector, Pipe::kVector},  {Pipe::kMte3, Pipe::kMte1},
        {Pipe::kMte1, Pipe::kMte3},     {Pipe::kMte1, Pipe::kVector},    {Pipe::kMte2, Pipe::kCube},
        {Pipe::kCube, Pipe::kMte2},     {Pipe::kVector, Pipe::kMte1},    {Pipe::kCube, Pipe::kFixpipe},
        {Pipe::kFixpipe, Pipe::kCube},  {Pipe::kMte3, Pipe::kMte2},      {Pipe::kMte2, Pipe::kMte3},
        {Pipe::kScalar, Pipe::kVector}, {Pipe::kVector, Pipe::kScalar},  {Pipe::kScalar, Pipe::kMte2},
        {Pipe::kMte2, Pipe::kScalar},   {Pipe::kScalar, Pipe::kMte3},    {Pipe::kMte3, Pipe::kScalar},
        {Pipe::kMte2, Pipe::kFixpipe},  {Pipe::kFixpipe, Pipe::kMte2},   {Pipe::kFixpipe, Pipe::kScalar},
        {Pipe::kCube, Pipe::kScalar},   {Pipe::kFixpipe, Pipe::kMte3},   {Pipe::kMte1, Pipe::kFixpipe},
        {Pipe::kFixpipe, Pipe::kMte1},  {Pipe::kFixpipe, Pipe::kFixpipe}};
    static_assert(sizeof(kPairs) / sizeof(kPairs[0]) == static_cast<int>(HardEvent::MAX), "one pair per event");
    return kPairs[static_cast<int>(event)];
}

constexpr HardEvent EventOf(sim::Pipe source, sim::Pipe target) {
    for (int event = 0; event < static_cast<int>(HardEvent::MAX); ++event) {
        const PipePair pair = PipesOf(static_cast<HardEvent>(event));
        if (pair.source == source && pair.target == target) {
            return static_cast<HardEvent>(event);
        }
    }
    return HardEvent::MAX;
}

constexpr sim::Pipe PipeOf(pipe_t pipe) {
    switch (pipe) {
        case PIPE_S:
            return sim::Pipe::kScalar;
        case PIPE_V:
            return sim::Pipe::kVector;
        case PIPE_M:
            return sim::Pipe::kCube;
        case PIPE_MTE1:
            return sim::Pipe::kMte1;
        case PIPE_MTE2:
            return sim::Pipe::kMte2;
        case PIPE_MTE3:
            return sim::Pipe::kMte3;
        case PIPE_FIX:
            return sim::Pipe::kFixpipe;
        default:
            return sim::Pipe::kAll;
    }
}

// A cube core has no vector unit: the device headers drop these events there, so that code shared by both core types
// may name them.
constexpr bool IsDroppedOnCube(HardEvent event) {
    return event == HardEvent::MTE2_V || event == HardEvent::V_MTE2 || event == HardEvent::MTE3_V ||
           event == HardEvent::V_MTE3 || event == HardEvent::V_V || event == HardEvent::S_V || event == HardEvent::V_S;
}

// Dropped on a vector core by the headers of CANN 9; those of CANN 8 issue a set that nothing there can wait for.
constexpr bool IsDroppedOnVector(HardEvent event) {
    return event == HardEvent::MTE2_MTE1 || event == HardEvent::MTE1_MTE2 || event == HardEvent::MTE1_M ||
           event == HardEvent::M_MTE1 || event == HardEvent::M_FIX || event == HardEvent::FIX_M;
}

template <HardEvent event>
void SetFlagOf(int32_t eventID, bool framework, sim::Site site) {
    if constexpr (g_coreType == AIC && IsDroppedOnCube(event)) {
        return;
    } else if constexpr (g_coreType == AIV && IsDroppedOnVector(event)) {
        sim::DropEvent(PipesOf(event).source, PipesOf(event).target, "SetFlag", site);
    } else if constexpr (PipesOf(event).source == PipesOf(event).target) {
        // V_V and FIX_FIX are barriers: V at the set, FIX at the wait, as on the device.
        if constexpr (event == HardEvent::V_V) {
            sim::Barrier(sim::Pipe::kVector, site);
        }
    } else {
        sim::SetEvent(PipesOf(event).source, PipesOf(event).target, eventID, framework, site);
    }
}

template <HardEvent event>
void WaitFlagOf(int32_t eventID, bool framework, sim::Site site) {
    if constexpr (g_coreType == AIC && IsDroppedOnCube(event)) {
        return;
    } else if constexpr (g_coreType == AIV && IsDroppedOnVector(event)) {
        sim::DropEvent(PipesOf(event).source, PipesOf(event).target, "WaitFlag", site);
    } else if constexpr (PipesOf(event).source == PipesOf(event).target) {
        if constexpr (event == HardEvent::FIX_FIX) {
            sim::Barrier(sim::Pipe::kFixpipe, site);
        }
    } else {
        sim::WaitEvent(PipesOf(event).source, PipesOf(event).target, eventID, framework, site);
    }
}

template <HardEvent event>
void SetFlag(int32_t eventID, sim::Site site = sim::Site::Here()) {
    SetFlagOf<event>(eventID, false, site);
}

template <HardEvent event>
void WaitFlag(int32_t eventID, sim::Site site = sim::Site::Here()) {
    WaitFlagOf<event>(eventID, false, site);
}

template <pipe_t pipe>
void PipeBarrier(sim::Site site = sim::Site::Here()) {
    // A barrier of the vector pipe on a cube core is dropped like its events.
    if constexpr (!(g_coreType == AIC && pipe == PIPE_V)) {
        sim::Barrier(PipeOf(pipe), site);
    }
}

// Events between two pipes named at compile time, portable across hardware generations.
template <pipe_t source, pipe_t target>
class TQueSync {
public:
    void SetFlag(int8_t id, sim::Site site = sim::Site::Here()) {
        SetFlagOf<EventOf(PipeOf(source), PipeOf(target))>(id, false, site);
    }
    void WaitFlag(int8_t id, sim::Site site = sim::Site::Here()) {
        WaitFlagOf<EventOf(PipeOf(source), PipeOf(target))>(id, false, site);
    }
};

template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, sim::Site site = sim::Site::Here()) {
    sim::CrossCoreSet(modeId, PipeOf(pipe), flagId, site);
}

// The machine ignores mode and pipe of a wait: issue to all pipes of the core stops.
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, sim::Site site = sim::Site::Here()) {
    sim::CrossCoreWait(flagId, site);
}

template <bool isAIVOnly = true>
void SyncAll(sim::Site site = sim::Site::Here()) {
    sim::SyncAllCores(isAIVOnly, site);
}

template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
             const int32_t usedCores = 0, sim::Site site = sim::Site::Here()) {
    sim::SoftSyncAll(ToOperand(gmWorkspace), ToOperand(ubWorkspace), usedCores, site);
}

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };

template <typename T, CacheLine entireType, DcciDst dcciDst>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
    sim::CleanDataCache(ToOperand(tensor).address, entireType == CacheLine::ENTIRE_DATA_CACHE, site);
}
// Of UB there is no cache to clean.
template <typename T, CacheLine entireType, DcciDst dcciDst>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <typename T, CacheLine entireType>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
    sim::CleanDataCache(ToOperand(tensor).address, entireType == CacheLine::ENTIRE_DATA_CACHE, site);
}

template <MemDsbT kind>
void DataSyncBarrier(sim::Site site = sim::Site::Here()) {
    sim::ScalarBarrier(site);
}

}  // namespace AscendC
