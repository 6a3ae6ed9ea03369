// SPDX-License-Identifier: Apache-2.0
#include "run/launch.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "core/machine.h"
#include "core/scheduler.h"
#include "run/failure.h"
#include "run/soc.h"
#include "timing/result.h"

namespace ascend_attention::sim {

namespace {

constexpr std::size_t kMaxArguments = 16;
constexpr double kDefaultStallSeconds = 30.0;

template <std::size_t... I>
void CallEntry(void* entry, const std::vector<std::uint64_t>& arguments, std::index_sequence<I...>) {
    using Function = void (*)(decltype(static_cast<void>(I), std::uint64_t{})...);
    reinterpret_cast<Function>(entry)(arguments[I]...);
}

template <std::size_t N>
void Dispatch(void* entry, const std::vector<std::uint64_t>& arguments) {
    if (arguments.size() == N) {
        CallEntry(entry, arguments, std::make_index_sequence<N>{});
    } else if constexpr (N < kMaxArguments) {
        Dispatch<N + 1>(entry, arguments);
    }
}

int AvailableCpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return std::max(1, CPU_COUNT(&set));
}

void Check(const LaunchSpec& spec) {
    const Soc& soc = FindSoc(spec.soc);
    const std::uint32_t limit = spec.kernel.kind == KernelKind::kVectorOnly ? 2 * soc.cube_cores : soc.cube_cores;
    if (spec.blocks == 0 || spec.blocks > limit) {
        throw std::invalid_argument("kernel '" + spec.kernel.name + "': " + std::to_string(spec.blocks) +
                                    " blocks, allowed on " + spec.soc + ": 1.." + std::to_string(limit));
    }
    const bool needs_cube = spec.kernel.kind != KernelKind::kVectorOnly;
    const bool needs_vector = spec.kernel.kind != KernelKind::kCubeOnly;
    if ((needs_cube && spec.kernel.cube_entry == nullptr) || (needs_vector && spec.kernel.vector_entry == nullptr)) {
        throw std::invalid_argument("kernel '" + spec.kernel.name + "' has no entry for a core type of its kind");
    }
    if (!(spec.stall_seconds >= 0.0)) {
        throw std::invalid_argument("kernel '" + spec.kernel.name + "': stall_seconds is " +
                                    std::to_string(spec.stall_seconds) + ", allowed: 0 (default) and more");
    }
    if (spec.arguments.size() > kMaxArguments) {
        throw std::invalid_argument("kernel '" + spec.kernel.name + "' has more than 16 arguments");
    }
}

}  // namespace

RunReport Launch(const LaunchSpec& spec) {
    Check(spec);
    const auto start = std::chrono::steady_clock::now();
    Machine machine(spec);
    int threads = spec.threads > 0 ? spec.threads : AvailableCpus();
    if (spec.mode == Mode::kChecked) {
        threads = 1;  // deterministic, and the checker needs no locks
    }
    const int core_threads = std::min<int>(threads, static_cast<int>(spec.blocks));
    const double stall_seconds = spec.stall_seconds == 0.0 ? kDefaultStallSeconds : spec.stall_seconds;
    RunCores(machine, RunOptions{&spec.kernel, core_threads, stall_seconds}, [&spec](Core& core) {
        Dispatch<0>(core.type() == CoreType::kCube ? spec.kernel.cube_entry : spec.kernel.vector_entry, spec.arguments);
    });
    if (spec.mode == Mode::kTimed && !machine.stopping()) {
        RefuseMemoryWords(machine);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    RunReport report = FinishReport(machine, seconds.count());
    if (spec.mode == Mode::kTimed) {
        report.timing = std::make_shared<TimingResult>(PredictTime(machine, spec.costs, threads));
    }
    return report;
}

}  // namespace ascend_attention::sim
