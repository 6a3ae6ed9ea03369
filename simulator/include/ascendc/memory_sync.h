// SPDX-License-Identifier: Apache-2.0
// Vector cores that meet through words of a workspace in global memory.
#pragma once

#include <cstdint>

#include "ascendc/tensor.h"
#include "machine/core_calls.h"
#include "machine/memory_flag_calls.h"

namespace AscendC {

template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
           int32_t eventID, sim::Site site = sim::Site::Here()) {
    sim::IbSet(ToOperand(gmWorkspace), ToOperand(ubWorkspace), isAIVOnly, blockIdx, eventID, site);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
            int32_t eventID, sim::Site site = sim::Site::Here()) {
    sim::IbWait(ToOperand(gmWorkspace), ToOperand(ubWorkspace), isAIVOnly, blockIdx, eventID, site);
}

// Deterministic computation: what lies between WaitPreBlock and NotifyNextBlock runs block after block.
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace,
                                          sim::Site site = sim::Site::Here()) {
    sim::InitTurns(ToOperand(gmWorkspace), ToOperand(ubWorkspace), site);
}
inline void WaitPreBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace,
                         sim::Site site = sim::Site::Here()) {
    sim::WaitTurn(ToOperand(gmWorkspace), ToOperand(ubWorkspace), site);
}
inline void NotifyNextBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace,
                            sim::Site site = sim::Site::Here()) {
    sim::EndTurn(ToOperand(gmWorkspace), ToOperand(ubWorkspace), site);
}

enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };

// 9.x: some vector cores arrive, some wait for all of them; again and again.
template <PipeMode pipeMode>
class GroupBarrier {
public:
    GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn, sim::Site site = sim::Site::Here())
        : workspace_(groupWorkspace), arriveSize_(arriveSizeIn), waitSize_(waitSizeIn) {
        sim::RequireUse(pipeMode == PipeMode::MTE3_MODE, "GroupBarrier", "only PipeMode::MTE3_MODE exists", site);
    }
    GroupBarrier() = delete;

    void Arrive(uint32_t arriveIndex, sim::Site site = sim::Site::Here()) {
        sim::GroupArrive(Call(arriveIndex, counter_, site));
        ++counter_;
        hasArrived_ = true;
    }
    void Wait(uint32_t waitIndex, sim::Site site = sim::Site::Here()) {
        sim::GroupWait(Call(waitIndex, hasArrived_ ? counter_ - 1 : counter_, site));
        counter_ += hasArrived_ ? 0 : 1;
        hasArrived_ = false;
    }
    uint64_t GetWorkspaceLen() const { return uint64_t{arriveSize_ > waitSize_ ? arriveSize_ : waitSize_} * 512; }

private:
    sim::GroupCall Call(uint32_t index, uint32_t round, sim::Site site) const {
        return {reinterpret_cast<uint64_t>(workspace_), arriveSize_, waitSize_, index, round, site};
    }

    GM_ADDR workspace_;
    uint32_t arriveSize_;
    uint32_t waitSize_;
    uint32_t counter_ = 1;
    bool hasArrived_ = false;
};

}  // namespace AscendC
