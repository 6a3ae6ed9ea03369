// SPDX-License-Identifier: Apache-2.0
// Calls of the device headers that are not instructions of a family: scalar access, events, flags, identity.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

// One element of a tensor through the scalar unit. `bytes` is 1, 2, 4 or 8. `address` is the element's own.
ASCEND_SIM_API void ScalarLoad(const Operand& element, void* value, std::uint32_t bytes, const char* name, Site site);
ASCEND_SIM_API void ScalarStore(const Operand& element, const void* value, std::uint32_t bytes, const char* name,
                                Site site);
// Around the data cache: ReadGmByPassDCache, WriteGmByPassDCache.
ASCEND_SIM_API void ScalarLoadUncached(const Operand& element, void* value, std::uint32_t bytes, const char* name,
                                       Site site);
ASCEND_SIM_API void ScalarStoreUncached(const Operand& element, const void* value, std::uint32_t bytes,
                                        const char* name, Site site);
ASCEND_SIM_API void PreloadDataCache(std::uint64_t address, Site site);
// DataCacheCleanAndInvalid: the 64-byte line of a global address, or the entire cache.
ASCEND_SIM_API void CleanDataCache(std::uint64_t address, bool entire, Site site);
// DataSyncBarrier: scalar accesses so far complete before anything that follows.
ASCEND_SIM_API void ScalarBarrier(Site site);

// In-core events of an ordered pair of pipes. `framework`: issued by TPipe or a queue, which may use every id.
ASCEND_SIM_API void SetEvent(Pipe source, Pipe target, int id, bool framework, Site site);
ASCEND_SIM_API void WaitEvent(Pipe source, Pipe target, int id, bool framework, Site site);
// SetFlag or WaitFlag (`name`) of a pair that the device headers drop on this core type.
ASCEND_SIM_API void DropEvent(Pipe source, Pipe target, const char* name, Site site);
ASCEND_SIM_API void Barrier(Pipe pipe, Site site, bool framework = false);
// TPipe's bookkeeping of ids: the lowest free one, taken (Alloc) or only looked up (Fetch).
ASCEND_SIM_API int AllocEvent(Pipe source, Pipe target, Site site);
ASCEND_SIM_API int FetchEvent(Pipe source, Pipe target, Site site);
ASCEND_SIM_API void ReleaseEvent(Pipe source, Pipe target, int id, Site site);

ASCEND_SIM_API void CrossCoreSet(int mode, Pipe pipe, int flag, Site site);
ASCEND_SIM_API void CrossCoreWait(int flag, Site site);
ASCEND_SIM_API void SyncAllCores(bool vector_only, Site site);

ASCEND_SIM_API std::int64_t BlockIndex();     // as GetBlockIdx: counts AIVs on a vector core
ASCEND_SIM_API std::int64_t PhysicalBlock();  // the block alone
ASCEND_SIM_API std::int64_t BlockCount();
ASCEND_SIM_API std::int64_t SubBlockIndex();
ASCEND_SIM_API std::int64_t SubBlockCount();
// Ticks of the 50 MHz counter. There is no time in fast and checked mode: it counts the core's instructions.
ASCEND_SIM_API std::int64_t SystemCycle();

// Bytes of a memory that a kernel may use on this core; 0 when the core type does not have it.
ASCEND_SIM_API std::uint64_t UsableBytes(Space space);
// The machine state a kernel starts with: full mask in normal mode, no atomic stores.
ASCEND_SIM_API void ResetMachineState();
// The control register's saturation of float results. Off is what is modelled.
ASCEND_SIM_API void SetSaturation(const char* name, bool on, Site site);
ASCEND_SIM_API void SetSystemWorkspace(void* workspace, bool force);
ASCEND_SIM_API void* SystemWorkspace();

// CheckLocalMemoryIA: bytes of UB whose access by these pipes (bits by number) is an error.
struct WatchRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint8_t readers = 0;
    std::uint8_t writers = 0;
    bool enabled = false;
};
ASCEND_SIM_API void WatchLocalMemory(int index, const WatchRange& range, Site site);

ASCEND_SIM_API std::uint16_t ScalarFloatToHalfOdd(float value);
ASCEND_SIM_API std::int32_t ScalarFloatToInt32(float value, std::uint8_t round_mode);

ASCEND_SIM_API void* CurrentPipeObject();
ASCEND_SIM_API void SetCurrentPipeObject(void* pipe);
// True while the core is being unwound after an error: destructors must not issue instructions.
ASCEND_SIM_API bool CoreIsEnding();
// A rule of the framework classes (TPipe, TQue): ends the core with a finding when broken.
ASCEND_SIM_API void RequireUse(bool ok, const char* name, const char* problem, Site site);

}  // namespace ascend_attention::sim
