// SPDX-License-Identifier: Apache-2.0
// Registers that a kernel sets: saturation, the system workspace, watched ranges. One case per `which`.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

void Watch(int64_t which) {
    LocalTensor<int32_t> tensor(TPosition::VECCALC, 0, 64);
    Duplicate(tensor, 1, 64);
    PipeBarrier<PIPE_ALL>();
    const bool wrong_register = which == 12;
    // Blocks 2 and 3: bytes 64 to 128.
    CheckLocalMemoryIA({static_cast<uint8_t>(wrong_register ? 4 : 1), 1, 3, which == 9, false, which == 10, which == 11,
                        false, false, true});
    Duplicate(tensor, 2, 16);
    PipeBarrier<PIPE_ALL>();
    if (which == 9) {
        tensor.GetValue(31);
    } else if (which == 10) {
        Adds(tensor, tensor[24], 1, 8);
    } else if (which == 11) {
        Duplicate(tensor[16], 3, 8);
    }
    CheckLocalMemoryIA({1, 1, 3, true, true, true, true, true, true, false});
    Duplicate(tensor, 4, 64);
}

int64_t Workspace(GM_ADDR workspace) {
    const bool unset = GetSysWorkSpacePtr() == nullptr;
    const int64_t alone = GetUserWorkspace(workspace) - workspace;
    SetSysWorkspace(workspace + 64);
    SetSysWorkspace(workspace);  // the first one stays
    const int64_t after = GetUserWorkspace(workspace) - workspace;
    SetSysWorkspaceForce(workspace);
    return unset && alone == 16 << 20 && after == alone + 64 && GetSysWorkSpacePtr() == workspace ? 1 : 0;
}

// What only matters on the device, and sizes of other architectures.
int64_t Harmless() {
    uint32_t version = 0;
    GetArchVersion(version);
    const int64_t before = GetProgramCounter();
    MetricsProfStart();
    SetNextTaskStart();
    SetNextTaskStart<PIPE_MTE3, PIPE_FIX>();
    WaitPreTaskEnd();
    MetricsProfStop();
    Nop<2>();
    PrintTimeStamp(70000);
    PipeBarrier<PIPE_ALL>();
    const bool ordered = GetProgramCounter() > before;
    const bool none = GetUBSizeInBytes() == 0 && GetVecLen() == 0 && GetRuntimeUBSize() == 0;
    const bool exact = ToFloat(ToBfloat16(1.5F)) == 1.5F;
    return ordered && none && exact && version == 0x220 ? 1 : 0;
}

__aicore__ void OnVectorOnly(GlobalTensor<int64_t> y) { y.SetValue(0, 5); }
__aicore__ void OnCubeOnly(GlobalTensor<int64_t> y) { y.SetValue(0, 6); }

}  // namespace

__schedmode__(1) extern "C" __global__ __mix__(0, 1) void registers(GM_ADDR y_address, int64_t which) {
    GlobalTensor<int64_t> y;
    y.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(y_address));
    y.SetValue(0, 0);
    switch (which) {
        case 0:
            SetCtrlSpr<48, 48>(1);
            ResetCtrlSpr<48, 48>();
            SetSaturationFlag<SaturationMode::FLOAT>(false);
            y.SetValue(0, GetSaturationFlag<SaturationMode::FLOAT>() ? 0 : 1);
            break;
        case 1:
            SetCtrlSpr<48, 48>(0);
            break;
        case 2:
            SetSaturationFlag<SaturationMode::CAST>(true);
            break;
        case 4:
            y.SetValue(0, Workspace(y_address));
            break;
        case 5:
            Async<EngineType::AIV, OnVectorOnly>(y);
            Async<EngineType::AIC, OnCubeOnly>(y);
            break;
        case 6:
            y.SetValue(0, block_idx * 1000 + block_num * 100 + get_subblockdim() * 10 + get_subblockid());
            break;
        case 7:
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            pipe_barrier(PIPE_ALL);
            break;
        case 13:
            y.SetValue(0, Harmless());
            break;
        default:
            Watch(which);
            break;
    }
    DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE>(y);
}
