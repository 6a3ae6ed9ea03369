// SPDX-License-Identifier: Apache-2.0
// The scalar unit: single elements, its data cache, identity of the core, rules of the framework classes.
#include <cstring>
#include <string>

#include "core/access.h"
#include "core/checker.h"
#include "core/fiber.h"
#include "core/machine.h"
#include "core/sync_trace.h"
#include "machine/core_calls.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

const GlobalRegion& GlobalElement(Core& core, const Call& call, const Operand& element, std::uint32_t bytes) {
    const GlobalRegion* buffer = core.FindGlobal(element.address);
    if (buffer == nullptr || element.address + bytes > buffer->end) {
        core.Fail("bounds",
                  Describe(call) + " on " + core.name() + ": the element lies outside every buffer of the launch: " +
                      core.machine().global().DescribeNearest(element.address),
                  SiteKey(call.site));
    }
    return *buffer;
}

void RequireWritable(Core& core, const Call& call, const GlobalRegion& buffer) {
    if (!buffer.writable) {
        core.Fail("read-only",
                  Describe(call) + " on " + core.name() + " writes into buffer '" + buffer.name +
                      "', which is an input of the kernel",
                  SiteKey(call.site));
    }
}

// Another host thread may run the core at the other end of a flag in memory.
template <typename T>
void LoadOnceAs(void* value, std::uint64_t address) {
    const T loaded = __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_ACQUIRE);
    std::memcpy(value, &loaded, sizeof loaded);
}
template <typename T>
void StoreOnceAs(std::uint64_t address, const void* value) {
    T stored;
    std::memcpy(&stored, value, sizeof stored);
    __atomic_store_n(reinterpret_cast<T*>(address), stored, __ATOMIC_RELEASE);
}

void LoadOnce(void* value, std::uint64_t address, std::uint32_t bytes) {
    if (address % bytes != 0) {  // host memory may be less aligned than the device's
        std::memcpy(value, reinterpret_cast<const void*>(address), bytes);
    } else if (bytes == 8) {
        LoadOnceAs<std::uint64_t>(value, address);
    } else if (bytes == 4) {
        LoadOnceAs<std::uint32_t>(value, address);
    } else if (bytes == 2) {
        LoadOnceAs<std::uint16_t>(value, address);
    } else {
        LoadOnceAs<std::uint8_t>(value, address);
    }
}

void StoreOnce(std::uint64_t address, const void* value, std::uint32_t bytes) {
    if (address % bytes != 0) {
        std::memcpy(reinterpret_cast<void*>(address), value, bytes);
    } else if (bytes == 8) {
        StoreOnceAs<std::uint64_t>(address, value);
    } else if (bytes == 4) {
        StoreOnceAs<std::uint32_t>(address, value);
    } else if (bytes == 2) {
        StoreOnceAs<std::uint16_t>(address, value);
    } else {
        StoreOnceAs<std::uint8_t>(address, value);
    }
}

void RecordLoad(Core& core, const Call& call, const Operand& element, const GlobalRegion& buffer, const void* value,
                std::uint32_t bytes) {
    if (core.recorder() != nullptr && core.recorder()->ScalarLoad(element, buffer, value, bytes, call.site)) {
        core.Fail("not modelled",
                  Describe(call) + " on " + core.name() +
                      " reads one place of global memory until another core has written it: timed mode cannot tell how "
                      "often it would look",
                  SiteKey(call.site));
    }
}

// `checked` is the load of the checker that knows whether this one goes through the data cache.
void LoadGlobal(Core& core, const Call& call, const Operand& element, void* value, std::uint32_t bytes, bool may_poll,
                decltype(&CoreChecker::ScalarLoad) checked) {
    core.CountInstruction(call);
    const GlobalRegion& buffer = GlobalElement(core, call, element, bytes);
    core.global_bytes_read += bytes;
    if (may_poll && buffer.writable && !core.Unwinding()) {
        YieldFiber();
    }
    if (core.checker() != nullptr && (buffer.writable || !buffer.initialised)) {
        std::uint32_t id = 0;
        const Tick tick = core.checker()->Begin(call, &id);
        (core.checker()->*checked)(Instruction{call, tick, id, false}, element, buffer, value, bytes);
        return;
    }
    LoadOnce(value, element.address, bytes);
    RecordLoad(core, call, element, buffer, value, bytes);
}

void StoreGlobal(Core& core, const Call& call, const Operand& element, const void* value, std::uint32_t bytes,
                 decltype(&CoreChecker::ScalarStore) checked) {
    core.CountInstruction(call);
    const GlobalRegion& buffer = GlobalElement(core, call, element, bytes);
    core.global_bytes_written += bytes;
    RequireWritable(core, call, buffer);
    if (core.checker() != nullptr) {
        std::uint32_t id = 0;
        const Tick tick = core.checker()->Begin(call, &id);
        (core.checker()->*checked)(Instruction{call, tick, id, false}, element, buffer, value, bytes);
        return;
    }
    StoreOnce(element.address, value, bytes);
    if (core.recorder() != nullptr) {
        core.recorder()->ScalarStore(element, buffer, bytes, call.site);
    }
}

}  // namespace

void ScalarLoad(const Operand& element, void* value, std::uint32_t bytes, const char* name, Site site) {
    Core& core = CurrentCore();
    const Call call{name, Pipe::kScalar, site};
    if (element.space != Space::kGlobal) {
        Access access(core, call);
        access.RequireSpace(element, "the element of a scalar access", Space::kUb);
        std::memcpy(value, access.Reads(element, "the element", Region{0, bytes}), bytes);
        return;
    }
    const bool may_poll = (core.instruction_total() & 15U) == 15U;  // now and then is enough
    LoadGlobal(core, call, element, value, bytes, may_poll, &CoreChecker::ScalarLoad);
}

void ScalarStore(const Operand& element, const void* value, std::uint32_t bytes, const char* name, Site site) {
    Core& core = CurrentCore();
    const Call call{name, Pipe::kScalar, site};
    if (element.space != Space::kGlobal) {
        Access access(core, call);
        access.RequireSpace(element, "the element of a scalar access", Space::kUb);
        std::memcpy(access.Writes(element, "the element", Region{0, bytes}), value, bytes);
        return;
    }
    StoreGlobal(core, call, element, value, bytes, &CoreChecker::ScalarStore);
}

void ScalarLoadUncached(const Operand& element, void* value, std::uint32_t bytes, const char* name, Site site) {
    Core& core = CurrentCore();
    LoadGlobal(core, Call{name, Pipe::kScalar, site}, element, value, bytes, true, &CoreChecker::ScalarLoadUncached);
}

void ScalarStoreUncached(const Operand& element, const void* value, std::uint32_t bytes, const char* name, Site site) {
    Core& core = CurrentCore();
    StoreGlobal(core, Call{name, Pipe::kScalar, site}, element, value, bytes, &CoreChecker::ScalarStoreUncached);
}

void PreloadDataCache(std::uint64_t address, Site site) {
    Core& core = CurrentCore();
    core.CountInstruction(Call{"DataCachePreload", Pipe::kScalar, site});
    if (core.recorder() != nullptr) {
        core.recorder()->Scalar("DataCachePreload", site);
    }
    const GlobalRegion* buffer = core.FindGlobal(address);
    // An address that is not there is no error: nothing is loaded.
    if (core.checker() != nullptr && buffer != nullptr && (buffer->writable || !buffer->initialised)) {
        core.checker()->PreloadLine(address, *buffer);
    }
}

void CleanDataCache(std::uint64_t address, bool entire, Site site) {
    Core& core = CurrentCore();
    const Call call{"DataCacheCleanAndInvalid", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, Pipe::kScalar, Pipe::kScalar, entire ? 1 : 0, -1, false, site})) {
        return;
    }
    core.CountInstruction(call);
    if (core.Unwinding()) {
        return;
    }
    YieldFiber();  // it may be polling
    if (core.recorder() != nullptr) {
        core.recorder()->Scalar(call.name, site);
    }
    // Of the entire cache the address says nothing.
    const GlobalRegion* buffer =
        entire ? nullptr : &GlobalElement(core, call, Operand{Space::kGlobal, DType::kOther, address}, 1);
    if (core.checker() == nullptr) {
        return;
    }
    std::uint32_t id = 0;
    const Tick tick = core.checker()->Begin(call, &id);
    const Instruction now{call, tick, id, false};
    if (buffer == nullptr) {
        core.checker()->CleanAll(now);
    } else {
        core.checker()->CleanLine(now, address, *buffer);
    }
}

void ScalarBarrier(Site site) {
    Core& core = CurrentCore();
    const Call call{"DataSyncBarrier", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, Pipe::kScalar, Pipe::kScalar, -1, -1, false, site})) {
        return;
    }
    core.CountInstruction(call);
    if (core.recorder() != nullptr) {
        core.recorder()->Scalar(call.name, site);
    }
    if (core.checker() != nullptr) {
        core.checker()->CompleteScalar();
    }
}

std::int64_t BlockIndex() {
    const CoreIdentity& identity = CurrentCore().identity();
    return static_cast<std::int64_t>(identity.block) * SubBlockCount() + identity.sub;
}

std::int64_t BlockCount() { return CurrentCore().machine().blocks(); }

std::int64_t SubBlockIndex() { return CurrentCore().identity().sub; }

std::int64_t SubBlockCount() {
    const Core& core = CurrentCore();
    return core.type() == CoreType::kVector ? VectorsPerBlock(core.machine().kind()) : 1;
}

std::int64_t SystemCycle() { return static_cast<std::int64_t>(CurrentCore().instruction_total()); }

std::uint64_t UsableBytes(Space space) { return CurrentCore().memory_bytes(space); }

void ResetMachineState() { CurrentCore().state = MachineState{}; }

void* CurrentPipeObject() { return CurrentCore().tpipe; }

void SetCurrentPipeObject(void* pipe) { CurrentCore().tpipe = pipe; }

bool CoreIsEnding() { return CurrentCore().Unwinding(); }

void RequireUse(bool ok, const char* name, const char* problem, Site site) {
    if (!ok) {
        Core& core = CurrentCore();
        core.Fail("parameter", Describe(name, site) + " on " + core.name() + ": " + problem, SiteKey(site));
    }
}

}  // namespace ascend_attention::sim
