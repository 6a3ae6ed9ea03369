// SPDX-License-Identifier: Apache-2.0
// Blocks that meet through words in global memory. `how` chooses the meeting, or the mistake.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kRow = 32;

enum How : int64_t {
    kIb = 0,            // a chain: block i adds to what block i - 1 has stored
    kIbForgotten = 1,   // the wait names another event
    kTurns = 2,         // every block adds to the same row, in order
    kTurnsMissing = 3,  // block 0 does not notify
    kGroup = 4,         // blocks 0 and 1 arrive, the others wait, twice
    kGroupAlone = 5,    // block 1 never arrives
    kSoft = 6,          // the first three meet
    kSoftTooMany = 7,   // a fourth joins
    kNothing = 8,       // the chain without any order
    kSoftTwice = 9,     // a store behind the first meeting is not ordered by it
    kSoftAbsent = 10,   // the first does not come
};

struct Rows {
    GlobalTensor<float> rows;
    GlobalTensor<int32_t> flags;
    LocalTensor<float> tile;
    LocalTensor<int32_t> scratch;

    void Load(int64_t row) {
        DataCopy(tile, rows[row * kRow], kRow);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    }
    void Store(int64_t row) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(rows[row * kRow], tile, kRow);
    }
};

void Chain(Rows& data, int64_t how) {
    const int64_t block = GetBlockIdx();
    if (block > 0) {
        if (how != kNothing) {
            IBWait(data.flags, data.scratch, block, how == kIbForgotten ? 1 : 0);
        }
        data.Load(block - 1);
        Adds(data.tile, data.tile, 1.0F, kRow);
    } else {
        Duplicate(data.tile, 1.0F, kRow);
    }
    data.Store(block);
    if (block + 1 < GetBlockNum() && how != kNothing) {
        IBSet(data.flags, data.scratch, block + 1, 0);
    }
}

void Turns(Rows& data, int64_t how) {
    InitDetermineComputeWorkspace(data.flags, data.scratch);
    for (int round = 0; round < 2; ++round) {
        WaitPreBlock(data.flags, data.scratch);
        data.Load(0);
        Muls(data.tile, data.tile, 2.0F, kRow);
        PipeBarrier<PIPE_V>();
        Adds(data.tile, data.tile, float(GetBlockIdx()), kRow);
        data.Store(0);
        if (how != kTurnsMissing || GetBlockIdx() != 0) {
            NotifyNextBlock(data.flags, data.scratch);
        }
    }
}

void Group(Rows& data, GM_ADDR flags, int64_t how) {
    const int64_t block = GetBlockIdx();
    const uint32_t waits = GetBlockNum() - 2;
    GroupBarrier<PipeMode::MTE3_MODE> barrier(flags, 2, waits);
    for (int round = 1; round <= 2; ++round) {
        if (block < 2) {
            Duplicate(data.tile, float(round * 10 + block), kRow);
            data.Store(block);
            if (how != kGroupAlone || block == 0) {
                barrier.Arrive(block);
            }
            SetFlag<HardEvent::MTE3_V>(0);
            WaitFlag<HardEvent::MTE3_V>(0);
        } else {
            barrier.Wait(block - 2);
            if (round == 2) {
                data.Load(block % 2);
                data.Store(block);
            }
        }
    }
    ASSERT(barrier.GetWorkspaceLen() == 512 * (waits > 2 ? waits : 2));
}

void Soft(Rows& data, int64_t how) {
    const int64_t block = GetBlockIdx();
    constexpr int64_t kMeeting = 3;
    Duplicate(data.tile, float(block), kRow);
    data.Store(block);
    if ((block < kMeeting && !(how == kSoftAbsent && block == 0)) || how == kSoftTooMany) {
        SyncAll(data.flags, data.scratch, kMeeting);
        if (how == kSoftTwice) {
            if (block == 0) {
                data.Store(8);
            }
            if (block == 1) {
                data.Load(8);
            }
            SyncAll(data.flags, data.scratch, kMeeting);
            return;
        }
        data.Load((block + 1) % kMeeting);
        data.Store(9 + block);
    }
}

}  // namespace

extern "C" __global__ __vector__ void memory_flags(GM_ADDR rows, GM_ADDR flags, int64_t how) {
    InitSocState();
    Rows data;
    data.rows.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rows));
    data.flags.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(flags));
    data.tile = LocalTensor<float>(TPosition::VECCALC, 0, kRow);
    data.scratch = LocalTensor<int32_t>(TPosition::VECCALC, 256, 128);
    if (how == kTurns || how == kTurnsMissing) {
        Turns(data, how);
    } else if (how == kGroup || how == kGroupAlone) {
        Group(data, flags, how);
    } else if (how == kSoft || how == kSoftTooMany || how == kSoftTwice || how == kSoftAbsent) {
        Soft(data, how);
    } else {
        Chain(data, how);
    }
}
