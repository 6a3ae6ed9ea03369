// SPDX-License-Identifier: Apache-2.0
// One AIC or AIV of one block: its memories, its machine state and its counters. Instruction semantics reach memory
// only through Access (core/access.h); what they may use of a Core directly is `state`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/findings.h"
#include "core/global_memory.h"
#include "core/state.h"
#include "core/thrown.h"
#include "machine/call.h"
#include "machine/core_calls.h"
#include "run/launch.h"

namespace ascend_attention::sim {

class Machine;
class CoreChecker;
class EventRecorder;
class SyncTrace;
struct CoreSync;

struct CoreIdentity {
    std::uint32_t block = 0;
    CoreType type = CoreType::kVector;
    std::uint32_t sub = 0;  // 0 or 1 for the AIVs of a mix kernel
};

// Sizes a kernel may use. 256 bytes of UB, and of L1 in a mix kernel, belong to the system.
std::uint64_t MemoryBytes(Space space, CoreType type, KernelKind kind);

// The on-chip memories of one core in one mapping, returned to a pool afterwards: fresh pages would cost a page fault
// per 4 KiB and launch.
class Arena {
public:
    Arena(CoreType type, KernelKind kind);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    std::byte* base(Space space) const { return bases_[static_cast<int>(space)]; }

private:
    CoreType type_;
    std::byte* memory_ = nullptr;
    std::array<std::byte*, kSpaceCount> bases_{};
};

class Core {
public:
    Core(Machine& machine, const CoreIdentity& identity, int index);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    MachineState state;

    Machine& machine() const { return machine_; }
    const CoreIdentity& identity() const { return identity_; }
    CoreType type() const { return identity_.type; }
    const std::string& name() const { return name_; }
    int index() const { return index_; }  // position in Machine::cores()

    std::byte* memory(Space space) const { return arena_.base(space); }
    std::uint64_t memory_bytes(Space space) const { return sizes_[static_cast<int>(space)]; }

    // Null but in checked mode.
    CoreChecker* checker() const { return checker_.get(); }
    CoreSync& sync() const { return *sync_; }
    // Null unless the launch records or ignores synchronisation calls.
    SyncTrace* sync_trace() const { return sync_trace_.get(); }
    // Null but in timed mode.
    EventRecorder* recorder() const { return recorder_.get(); }

    // Counts one instruction; ends the core when the limit is reached or another core has failed.
    void CountInstruction(const Call& call);
    // The call that was counted last; its name is null before the first.
    const Call& last_call() const { return last_call_; }
    // Calls fail from here downwards, while there is still room to unwind. Set for cores whose stack has an end nearby.
    void SetStackLimit(std::uint64_t lowest) { stack_limit_ = lowest; }
    const std::array<std::uint64_t, kPipeCount>& instructions() const { return instructions_; }
    std::uint64_t instruction_total() const { return instruction_total_; }

    // Ends this core without a finding (another core has one).
    [[noreturn]] void End();
    // Records an error and ends this core (throws CoreEnd).
    [[noreturn]] void Fail(const std::string& kind, const std::string& text, const std::string& key);
    // Records a finding and goes on.
    void Report(Severity severity, const std::string& kind, const std::string& text, const std::string& key);

    // The registered region of [address, address + bytes), or null. Remembers the last hit: consecutive instructions
    // mostly move through one buffer.
    const GlobalRegion* FindGlobal(std::uint64_t address);

    // Text that device code printed, up to a limit: a loop that prints must not fill the memory of the host.
    void AppendPrinted(const std::string& text);
    std::string Printed() const;

    // The launch's code, and where it has thrown exceptions. Null outside a launch.
    const LaunchCode* code = nullptr;
    ThrowLog throws;

    std::uint64_t global_bytes_read = 0;
    std::uint64_t global_bytes_written = 0;
    // The TPipe of the running kernel: state of the device headers that may not live in a header.
    void* tpipe = nullptr;
    void* system_workspace = nullptr;
    // CheckLocalMemoryIA's registers.
    std::array<WatchRange, 4> watches{};
    bool watching = false;
    // What the core waits for, for the deadlock report. `name` is null while it runs.
    Call waits_for{nullptr, Pipe::kScalar, {"", 0}};
    int waits_for_flag = 0;
    // Set once the core has ended with an error and its fiber unwinds.
    bool ending = false;
    // Destructors of device objects run while an exception (ours or the device code's own) unwinds the fiber: they must
    // neither throw nor wait, so what they ask for is ignored.
    bool Unwinding() const;

private:
    [[noreturn]] void InstructionLimit(const Call& call);
    void BoundRecord(const Call& call);
    [[noreturn]] void StackOverflow(const Call& call);

    Machine& machine_;
    CoreIdentity identity_;
    std::string name_;
    int index_ = 0;
    Arena arena_;
    std::array<std::uint64_t, kSpaceCount> sizes_{};
    std::array<std::uint64_t, kPipeCount> instructions_{};
    std::uint64_t instruction_total_ = 0;
    std::uint64_t instruction_limit_ = 0;
    Call last_call_{nullptr, Pipe::kScalar, {"", 0}};
    std::uint64_t stack_limit_ = 0;
    const GlobalRegion* last_region_ = nullptr;
    std::string printed_;
    std::uint64_t printed_dropped_ = 0;
    std::unique_ptr<CoreSync> sync_;
    std::unique_ptr<SyncTrace> sync_trace_;
    std::unique_ptr<CoreChecker> checker_;
    std::unique_ptr<EventRecorder> recorder_;
    std::uint64_t record_bytes_ = 0;  // of the recorder, when it was last looked at
};

// The core whose device code runs on this host thread. Only valid inside a launch or a Bench.
ASCEND_SIM_API Core& CurrentCore();
bool HasCurrentCore();
void SetCurrentCore(Core* core);

}  // namespace ascend_attention::sim
