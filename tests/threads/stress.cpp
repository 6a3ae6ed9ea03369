// SPDX-License-Identifier: Apache-2.0
// The machine's own threading, for ThreadSanitizer and as a plain test: several host threads launch kernels at once,
// each on several threads of the machine, some of the launches fail, and at last no thread can be had. Results are
// checked, so that a broken hand-over shows without a sanitizer too.
//   test_threads <cube library> <vector library> [rounds]
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cpp/check.h"
#include "run/launch.h"

namespace {

using namespace ascend_attention::sim;

struct Libraries {
    std::string cube;
    std::string vector;
};

std::mutex checks;  // check.h counts without a lock

void Expect(bool ok, const std::string& what) {
    const std::lock_guard<std::mutex> lock(checks);
    CHECK_CONTEXT(ok, what);
}

// Builds the launch of one kernel; buffers live as long as it.
class Kernels {
public:
    Kernels(const Libraries& libraries, const char* name, KernelKind kind, std::uint32_t blocks, int threads,
            Mode mode) {
        spec_.kernel = LoadKernel(libraries.cube, libraries.vector, name, kind);
        spec_.blocks = blocks;
        spec_.threads = threads;
        spec_.mode = mode;
    }

    template <typename T>
    void Input(std::vector<T>& values) {
        Add(values, "input", false, true, false);
    }
    template <typename T>
    void Scratch(std::vector<T>& values, bool initialised) {
        Add(values, "scratch", true, initialised, false);
    }
    template <typename T>
    void Output(std::vector<T>& values) {
        Add(values, "output", true, false, true);
    }
    void Word(std::uint64_t value) { spec_.arguments.push_back(value); }
    void Limit(std::uint64_t instructions) { spec_.instruction_limit = instructions; }

    // The kind of the first error, or nothing.
    std::string Run() {
        try {
            Launch(spec_);
            return "";
        } catch (const SimulatorFailure& failure) {
            for (const Finding& finding : failure.report().findings) {
                if (finding.severity == Severity::kError) {
                    return finding.kind;
                }
            }
            return "none";
        }
    }

private:
    template <typename T>
    void Add(std::vector<T>& values, const char* name, bool writable, bool initialised, bool output) {
        GlobalBuffer buffer;
        buffer.data = values.data();
        buffer.bytes = values.size() * sizeof(T);
        buffer.writable = writable;
        buffer.initialised = initialised;
        buffer.output = output;
        buffer.name = name;
        spec_.buffers.push_back(buffer);
        spec_.arguments.push_back(reinterpret_cast<std::uint64_t>(values.data()));
    }

    LaunchSpec spec_;
};

// Every vector core writes its row, all meet, every core reads its neighbour's. `how` as in the kernel.
void Meet(const Libraries& libraries, int how, KernelKind kind, std::uint32_t blocks, int threads, Mode mode) {
    constexpr std::size_t kRow = 64;
    const std::size_t cores = blocks * (kind == KernelKind::kMix ? 2 : 1);
    std::vector<float> exchange(cores * kRow);
    std::vector<float> y(cores * kRow);
    std::vector<std::int32_t> flags(cores * 8);
    Kernels kernel(libraries, "sync_all", kind, blocks, threads, mode);
    kernel.Scratch(exchange, false);
    kernel.Output(y);
    kernel.Scratch(flags, true);
    kernel.Word(static_cast<std::uint64_t>(how));
    const std::string error = kernel.Run();
    const std::string what =
        "sync_all " + std::to_string(how) + " on " + std::to_string(threads) + " threads: " + error;
    Expect(error.empty(), what);
    for (std::size_t core = 0; core < cores; ++core) {
        const std::size_t next = how == 4 ? (core ^ 1U) : (core + 1) % cores;
        Expect(y[core * kRow] == static_cast<float>(next) && y[core * kRow + kRow - 1] == static_cast<float>(next),
               what);
    }
}

// A ring between a cube core and its vector cores; `defect` breaks its protocol as in the kernel.
void Ring(const Libraries& libraries, int defect, const std::string& wanted, int threads) {
    constexpr std::size_t kTile = 256;
    constexpr std::uint32_t kBlocks = 4;
    constexpr std::size_t kTiles = 5;
    constexpr std::uint16_t kOne = 0x3C00;  // 1 in float16
    std::vector<std::uint16_t> left(kBlocks * kTiles * kTile, kOne);
    std::vector<std::uint16_t> identity(kTile);
    for (std::size_t i = 0; i < 16; ++i) {
        identity[i * 17] = kOne;
    }
    std::vector<float> slots(kBlocks * 2 * kTile);
    std::vector<float> y(kBlocks * kTiles * kTile);
    Kernels kernel(libraries, "cross_core", KernelKind::kMix, kBlocks, threads, Mode::kFast);
    kernel.Input(left);
    kernel.Input(identity);
    kernel.Scratch(slots, false);
    kernel.Output(y);
    kernel.Word(kTiles);
    kernel.Word(static_cast<std::uint64_t>(defect));
    const std::string error = kernel.Run();
    const std::string what = "cross_core " + std::to_string(defect) + ": " + error;
    Expect(error == wanted, what);
    if (wanted.empty()) {
        Expect(y.front() == 1.0F && y.back() == 1.0F, what);
    }
}

void Fault(const Libraries& libraries, int which, const std::string& wanted, std::uint32_t blocks, int threads) {
    std::vector<float> x(64);
    std::vector<float> y(64);
    Kernels kernel(libraries, "memory_faults", KernelKind::kVectorOnly, blocks, threads, Mode::kFast);
    kernel.Input(x);
    kernel.Output(y);
    kernel.Word(x.size());
    kernel.Word(static_cast<std::uint64_t>(which));
    kernel.Limit(20000);
    const std::string error = kernel.Run();
    Expect(error == wanted, "memory_faults " + std::to_string(which) + ": " + error);
}

// The same flag in mode 0 between all vector cores and in mode 2 from the cube core of a block. Without the set of one
// vector core it is a deadlock across all threads.
void Storm(const Libraries& libraries, int silent, int threads) {
    constexpr std::uint32_t kBlocks = 4;
    std::vector<float> y(kBlocks * 2 * 8);
    Kernels kernel(libraries, "flag_storm", KernelKind::kMix, kBlocks, threads, Mode::kFast);
    kernel.Output(y);
    kernel.Word(300);
    kernel.Word(static_cast<std::uint64_t>(silent));
    const std::string error = kernel.Run();
    const std::string what = "flag_storm " + std::to_string(silent) + ": " + error;
    if (silent >= 0) {
        Expect(error == "deadlock", what);
        return;
    }
    Expect(error.empty() && y.front() == 1.0F && y.back() == 1.0F, what);
}

void Everything(const Libraries& libraries, int round, int caller) {
    const int threads = 1 + (round + caller) % 4;
    for (const Mode mode : {Mode::kFast, Mode::kChecked}) {
        Meet(libraries, 1, KernelKind::kVectorOnly, 7, threads, mode);  // SyncAll of vector cores
        Meet(libraries, 2, KernelKind::kMix, 5, threads, mode);         // SyncAll with cube cores
        Meet(libraries, 3, KernelKind::kVectorOnly, 8, threads, mode);  // mode 0
        Meet(libraries, 7, KernelKind::kMix, 4, threads, mode);
        Meet(libraries, 5, KernelKind::kVectorOnly, 4, threads, mode);  // flags in global memory
    }
    Ring(libraries, 0, "", threads);
    Ring(libraries, 4, "deadlock", threads);
    Ring(libraries, 8, "flag", threads);
    Storm(libraries, -1, threads);
    Storm(libraries, 5, threads);
    Fault(libraries, 1, "bounds", 6, threads);
    Fault(libraries, 8, "exception", 6, threads);
    Fault(libraries, 7, "instruction limit", 6, threads);
    Fault(libraries, 17, "bounds", 6, threads);
}

std::size_t ThreadsNow() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Last, because it cannot be taken back: no thread but those that run now, then two more.
void Shortage(const Libraries& libraries) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) {
        std::cout << "the shortage of threads was not tried: no user without other processes\n";
        return;
    }
    for (const std::size_t spare : {2U, 0U}) {
        const rlimit limit{ThreadsNow() + spare, ThreadsNow() + 2};
        if (setrlimit(RLIMIT_NPROC, &limit) != 0) {
            std::cout << "the shortage of threads was not tried: setrlimit failed\n";
            return;
        }
        Meet(libraries, 2, KernelKind::kMix, 8, 8, Mode::kFast);
        Fault(libraries, 8, "exception", 8, 8);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::cerr << "usage: " << arguments[0] << " <cube library> <vector library> [rounds]\n";
        return 2;
    }
    const Libraries libraries{arguments[1], arguments[2]};
    const int rounds = count > 3 ? std::atoi(arguments[3]) : 2;
    constexpr int kCallers = 3;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> callers;
        for (int caller = 0; caller < kCallers; ++caller) {
            callers.emplace_back([&libraries, round, caller] { Everything(libraries, round, caller); });
        }
        for (std::thread& caller : callers) {
            caller.join();
        }
    }
    Shortage(libraries);
    return check::Result();
}
