// SPDX-License-Identifier: Apache-2.0
// Who and where a core is, its control registers, and calls that only matter on the device.
#pragma once

#include <cstdint>

#include "ascendc/sync.h"
#include "ascendc/tensor.h"
#include "machine/core_calls.h"

namespace AscendC {

inline int64_t GetBlockIdx() { return sim::BlockIndex(); }
inline int64_t GetBlockNum() { return sim::BlockCount(); }
inline int64_t GetSubBlockIdx() { return sim::SubBlockIndex(); }
inline int64_t GetSubBlockNum() { return sim::SubBlockCount(); }
inline int64_t GetTaskRation() { return sim::SubBlockCount(); }
inline int64_t GetTaskRatio() { return sim::SubBlockCount(); }
inline int64_t GetSystemCycle() { return sim::SystemCycle(); }
// The scalar unit's instructions are 4 bytes long.
inline int64_t GetProgramCounter() { return sim::SystemCycle() * 4; }
inline void GetArchVersion(uint32_t& coreVersion) { coreVersion = 0x220; }
constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }
// Of later architectures; here the device headers give 0.
constexpr uint32_t GetUBSizeInBytes() { return 0; }
constexpr uint32_t GetVecLen() { return 0; }
inline uint32_t GetRuntimeUBSize() { return 0; }
template <int count = 1>
void Nop() {}

// 9.x: what a kernel without TPipe starts with.
inline void InitSocState() { sim::ResetMachineState(); }

inline void ICachePreLoad(const int64_t) {}
inline int64_t GetICachePreloadStatus() { return 0; }
inline void SetSyncBaseAddr(uint64_t) {}
template <typename T>
void DataCachePreload(const GlobalTensor<uint64_t>& src, const T cacheOffset, sim::Site site = sim::Site::Here()) {
    static_assert(std::is_integral_v<T>, "cacheOffset is an integer");
    sim::PreloadDataCache(ToOperand(src).address + static_cast<uint64_t>(static_cast<int64_t>(cacheOffset)), site);
}

// Order between the kernels that one super kernel is made of; here as on Atlas A2/A3 they only have to compile.
template <pipe_t AIV_PIPE = PIPE_MTE3, pipe_t AIC_PIPE = PIPE_FIX, bool FORCE = false>
void SetNextTaskStart() {}
template <bool FORCE = false>
void WaitPreTaskEnd() {}

// ---- Control register: bit 48 alone is open, and only its value 1 (infinities and NaN stay) is modelled ----

enum class SaturationMode : uint8_t { FLOAT, FLOAT8, INT, CAST };

template <int8_t startBit, int8_t endBit>
void SetCtrlSpr(int64_t value, sim::Site site = sim::Site::Here()) {
    static_assert(startBit == 48 && endBit == 48, "bit 48 alone can be set on this architecture");
    sim::SetSaturation("SetCtrlSpr", (value & 1) == 0, site);
}
template <int8_t startBit, int8_t endBit>
int64_t GetCtrlSpr() {
    static_assert(startBit == 48 && endBit == 48, "bit 48 alone can be read on this architecture");
    return 1;
}
template <int8_t startBit, int8_t endBit>
void ResetCtrlSpr() {
    static_assert(startBit == 48 && endBit == 48, "bit 48 alone can be reset on this architecture");
}
template <SaturationMode mode>
void SetSaturationFlag(bool enableSat, sim::Site site = sim::Site::Here()) {
    static_assert(mode != SaturationMode::FLOAT8, "not on this architecture");
    sim::SetSaturation("SetSaturationFlag", enableSat, site);
}
template <SaturationMode mode>
bool GetSaturationFlag() {
    static_assert(mode != SaturationMode::FLOAT8, "not on this architecture");
    return false;
}

// ---- Workspace: the first 16 MiB belong to the framework ----

inline void SetSysWorkspace(GM_ADDR workspace) { sim::SetSystemWorkspace(workspace, false); }
inline void SetSysWorkspaceForce(GM_ADDR workspace) { sim::SetSystemWorkspace(workspace, true); }
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) {
    auto* system = static_cast<__gm__ uint8_t*>(sim::SystemWorkspace());
    return (system != nullptr ? system : workspace) + RESERVED_WORKSPACE;
}

// ---- A range of UB that nobody may touch in the named way ----

struct CheckLocalMemoryIAParam {
    CheckLocalMemoryIAParam() = default;
    CheckLocalMemoryIAParam(const uint8_t enableBitIn, const uint32_t startAddrIn, const uint32_t endAddrIn,
                            const bool isScalarReadIn, const bool isScalarWriteIn, const bool isVectorReadIn,
                            const bool isVectorWriteIn, const bool isMteReadIn, const bool isMteWriteIn,
                            const bool isEnableIn)
        : enableBit(enableBitIn),
          startAddr(startAddrIn),
          endAddr(endAddrIn),
          isScalarRead(isScalarReadIn),
          isScalarWrite(isScalarWriteIn),
          isVectorRead(isVectorReadIn),
          isVectorWrite(isVectorWriteIn),
          isMteRead(isMteReadIn),
          isMteWrite(isMteWriteIn),
          isEnable(isEnableIn) {}

    uint8_t enableBit = 0;
    uint32_t startAddr = 0;
    uint32_t endAddr = 0;
    bool isScalarRead = false;
    bool isScalarWrite = false;
    bool isVectorRead = false;
    bool isVectorWrite = false;
    bool isMteRead = false;
    bool isMteWrite = false;
    bool isEnable = false;
    uint32_t reserved = 0;
};

inline void CheckLocalMemoryIA(const CheckLocalMemoryIAParam& checkParams, sim::Site site = sim::Site::Here()) {
    const auto bit = [](bool on, sim::Pipe pipe) {
        return static_cast<uint8_t>((on ? 1U : 0U) << static_cast<int>(pipe));
    };
    sim::WatchRange range;
    // In blocks of 32 bytes, without the first and with the last.
    range.begin = (uint64_t{checkParams.startAddr} + 1) * ONE_BLK_SIZE;
    range.end = (uint64_t{checkParams.endAddr} + 1) * ONE_BLK_SIZE;
    range.readers = static_cast<uint8_t>(bit(checkParams.isScalarRead, sim::Pipe::kScalar) |
                                         bit(checkParams.isVectorRead, sim::Pipe::kVector) |
                                         bit(checkParams.isMteRead, sim::Pipe::kMte3));
    range.writers = static_cast<uint8_t>(bit(checkParams.isScalarWrite, sim::Pipe::kScalar) |
                                         bit(checkParams.isVectorWrite, sim::Pipe::kVector) |
                                         bit(checkParams.isMteWrite, sim::Pipe::kMte2));
    range.enabled = checkParams.isEnable;
    sim::WatchLocalMemory(checkParams.enableBit, range, site);
}

// Runs a function on the cores of one type only.
enum class EngineType : int32_t { AIC = 1, AIV = 2 };
template <EngineType engine, auto funPtr, class... Args>
void Async(Args... args) {
    if constexpr (static_cast<int>(engine) == g_coreType) {
        funPtr(args...);
    }
}

}  // namespace AscendC

inline __gm__ uint8_t* GetSysWorkSpacePtr() {
    return static_cast<__gm__ uint8_t*>(ascend_attention::sim::SystemWorkspace());
}
inline void SetSysWorkSpacePtr(__gm__ uint8_t* workspace) {
    ascend_attention::sim::SetSystemWorkspace(workspace, true);
}

// ---- Builtins of the compiler that kernels of 8.x use beside the interface ----

// Named like variables, so that a kernel's own variable of that name hides them as it does on the device.
namespace ascend_attention::sim {
struct BlockIndexBuiltin {
    operator int64_t() const { return PhysicalBlock(); }
};
struct BlockCountBuiltin {
    operator int64_t() const { return BlockCount(); }
};
}  // namespace ascend_attention::sim
[[maybe_unused]] constexpr ascend_attention::sim::BlockIndexBuiltin block_idx{};
[[maybe_unused]] constexpr ascend_attention::sim::BlockCountBuiltin block_num{};

inline int64_t get_block_idx() { return ascend_attention::sim::PhysicalBlock(); }
inline int64_t get_block_num() { return ascend_attention::sim::BlockCount(); }
inline int64_t get_subblockid() { return ascend_attention::sim::SubBlockIndex(); }
inline int64_t get_subblockdim() { return ascend_attention::sim::SubBlockCount(); }

inline void pipe_barrier(pipe_t pipe, ascend_attention::sim::Site site = ascend_attention::sim::Site::Here()) {
    if (!(g_coreType == AscendC::AIC && pipe == PIPE_V)) {
        ascend_attention::sim::Barrier(AscendC::PipeOf(pipe), site);
    }
}
inline void set_flag(pipe_t source, pipe_t target, int32_t id,
                     ascend_attention::sim::Site site = ascend_attention::sim::Site::Here()) {
    ascend_attention::sim::SetEvent(AscendC::PipeOf(source), AscendC::PipeOf(target), id, false, site);
}
inline void wait_flag(pipe_t source, pipe_t target, int32_t id,
                      ascend_attention::sim::Site site = ascend_attention::sim::Site::Here()) {
    ascend_attention::sim::WaitEvent(AscendC::PipeOf(source), AscendC::PipeOf(target), id, false, site);
}
