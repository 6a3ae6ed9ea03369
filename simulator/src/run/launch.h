// SPDX-License-Identifier: Apache-2.0
// The machine as the host sees it: register buffers, launch a kernel on the cores of an SoC, get a report.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/call.h"
#include "timing/cost_source.h"

namespace ascend_attention::sim {

enum class Mode : std::uint8_t { kFast, kChecked, kTimed };
// Cores of a block: one AIC with two AIVs (kMix) or with one (kMixOneToOne), one AIC, or one AIV.
enum class KernelKind : std::uint8_t { kMix, kCubeOnly, kVectorOnly, kMixOneToOne };
enum class CoreType : std::uint8_t { kCube, kVector };

// Global memory a kernel may touch. Everything else is out of bounds. `writable` false makes a store a finding;
// `initialised` false poisons the buffer before the launch (every byte 0xFF: a NaN in each float type) and makes reads
// of it findings; `output` makes undefined bytes that reach it findings. `read_only` input needs no race tracking.
struct GlobalBuffer {
    void* data = nullptr;
    std::uint64_t bytes = 0;
    bool writable = false;
    bool initialised = true;
    bool output = false;
    std::string name;
};

// One kernel of the two device libraries: the same entry compiled for each core type. Either may be null when the kind
// does not need it. Every argument is a 64-bit word (a GM_ADDR or an integer).
struct Kernel {
    std::string name;
    void* cube_entry = nullptr;
    void* vector_entry = nullptr;
    KernelKind kind = KernelKind::kMix;
};

// What one line of device code does with one event, barrier or cross-core flag: two calls are the same when everything
// but `count` is equal. A helper's line is one line, whoever called the helper.
struct SyncCall {
    // "SetFlag", "WaitFlag", "PipeBarrier", "CrossCoreSetFlag", "CrossCoreWaitFlag", "SyncAll", "DataSyncBarrier",
    // "DataCacheCleanAndInvalid"
    std::string name;
    CoreType core = CoreType::kVector;
    Pipe source = Pipe::kAll;  // of an event, the pipe that sets; of a barrier or a cross-core set, its one pipe
    Pipe target = Pipe::kAll;  // of an event, the pipe that waits; else as `source`
    int mode = -1;  // of CrossCoreSetFlag; of SyncAll 1 when only vector cores meet; of the cache 1 when it is all
    int id = -1;    // event or flag
    bool framework = false;  // TPipe or a queue issues it; the line is that of the kernel's call
    std::string file;
    int line = 0;
    std::uint64_t count = 0;  // executions on all cores
};

struct LaunchSpec {
    Kernel kernel;
    std::uint32_t blocks = 0;
    std::string soc = "Ascend910B2";
    Mode mode = Mode::kFast;
    int threads = 0;  // host threads; 0 = CPUs available
    std::vector<std::uint64_t> arguments;
    std::vector<GlobalBuffer> buffers;
    std::uint64_t instruction_limit = 0;  // per core; 0 = default
    bool echo = false;                    // device code's printf also appears on stdout, at once
    bool record_sync = false;             // fill RunReport::sync_calls
    // Calls without effect: what would a kernel be that lacked them? Each still counts as an instruction.
    std::vector<SyncCall> ignored;
    // A core that runs so long without issuing an instruction is ended with a finding. 0 = 30 seconds; infinite =
    // never.
    double stall_seconds = 0.0;
    // Checked mode: order what the vendor's compiler orders by itself (core/auto_sync.cpp).
    bool auto_sync = false;
    // Timed mode.
    CostSource costs = CostSource::kMeasured;
    // Timed mode keeps a record of every step. Bytes that it may take; 0 = nine tenths of what the host has left.
    std::uint64_t record_bytes = 0;
};

enum class Severity : std::uint8_t { kError, kUndocumentedOrder, kWarning };

struct Finding {
    Severity severity = Severity::kError;
    std::string kind;  // "race", "bounds", "uninitialised", "alignment", "parameter", "deadlock", "flag", ...
    std::string text;  // complete, readable: calls, files and lines, operands, offsets, limits, cores, pipes, buffer
};

struct CoreReport {
    std::string core;  // "block 3 AIV1"
    std::array<std::uint64_t, kPipeCount> instructions{};
};

struct TimingResult;  // timing/result.h

struct RunReport {
    std::string kernel;
    std::string soc;
    Mode mode = Mode::kFast;
    std::uint32_t blocks = 0;
    std::array<std::uint64_t, kPipeCount> instructions{};
    std::uint64_t global_bytes_read = 0;
    std::uint64_t global_bytes_written = 0;
    std::vector<CoreReport> cores;
    std::vector<SyncCall> sync_calls;  // of record_sync, in the order of the source; ignored ones too
    std::string printed;               // by device code, core after core, each in program order
    std::vector<Finding> findings;     // warnings when the launch returned; everything when it threw
    double seconds = 0.0;
    std::shared_ptr<const TimingResult> timing;  // of timed mode
};

// Device code did something the machine would not survive, or, in checked mode, something whose result depends on
// timing. what() is the first finding's text and how many more there are.
class ASCEND_SIM_API SimulatorFailure : public std::runtime_error {
public:
    SimulatorFailure(const std::string& text, RunReport report)
        : std::runtime_error(text), report_(std::move(report)) {}
    const RunReport& report() const { return report_; }

private:
    RunReport report_;
};

// Loads the two device libraries and looks an entry up by name (throws std::runtime_error with dlerror's text).
ASCEND_SIM_API Kernel LoadKernel(const std::string& cube_library, const std::string& vector_library,
                                 const std::string& name, KernelKind kind);

// Blocks until every core has finished. Thread-safe: several host threads may launch at once. Throws SimulatorFailure.
ASCEND_SIM_API RunReport Launch(const LaunchSpec& spec);

}  // namespace ascend_attention::sim
