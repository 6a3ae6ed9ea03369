// SPDX-License-Identifier: Apache-2.0
// Synchronisation through words in global memory. `gm` and `ub` are the workspaces that the kernel gives.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

ASCEND_SIM_API void IbSet(const Operand& gm, const Operand& ub, bool aiv_only, int block, int event, Site site);
ASCEND_SIM_API void IbWait(const Operand& gm, const Operand& ub, bool aiv_only, int block, int event, Site site);

// InitDetermineComputeWorkspace, WaitPreBlock, NotifyNextBlock.
ASCEND_SIM_API void InitTurns(const Operand& gm, const Operand& ub, Site site);
ASCEND_SIM_API void WaitTurn(const Operand& gm, const Operand& ub, Site site);
ASCEND_SIM_API void EndTurn(const Operand& gm, const Operand& ub, Site site);

struct GroupCall {
    std::uint64_t workspace = 0;
    std::uint32_t arrivals = 0;
    std::uint32_t waits = 0;
    std::uint32_t index = 0;
    std::uint32_t round = 0;  // from 1
    Site site;
};
ASCEND_SIM_API void GroupArrive(const GroupCall& group);
ASCEND_SIM_API void GroupWait(const GroupCall& group);

// SyncAll with workspaces: the first `used_cores` vector cores, 0 = all.
ASCEND_SIM_API void SoftSyncAll(const Operand& gm, const Operand& ub, int used_cores, Site site);

}  // namespace ascend_attention::sim
