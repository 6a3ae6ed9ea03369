// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "launch/sim/run_settings.h"
#include "run/launch.h"

namespace ascend_attention::launch {
namespace {

// The device libraries lie beside libascend_attention.so, wherever that was installed.
std::string LibraryDirectory() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&LibraryDirectory), &info) == 0 || info.dli_fname == nullptr) {
        throw std::runtime_error("cannot tell where libascend_attention.so was loaded from");
    }
    const std::string path = info.dli_fname;
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

sim::Kernel FindKernel(const std::string& name) {
    static const std::string directory = LibraryDirectory();
    return sim::LoadKernel(directory + "/libascend_attention_kernels_cube.so",
                           directory + "/libascend_attention_kernels_vector.so", name, sim::KernelKind::kMix);
}

sim::LaunchSpec MakeSpec(const Job& job, const RunSettings& settings) {
    sim::LaunchSpec spec;
    spec.kernel = FindKernel(job.kernel);
    spec.blocks = job.blocks;
    spec.soc = settings.soc;
    spec.mode = settings.mode;
    spec.costs = settings.costs;
    spec.threads = settings.threads;
    spec.instruction_limit = settings.instruction_limit;
    spec.record_sync = settings.record_sync;
    spec.ignored = settings.ignored;
    for (const Argument& argument : job.arguments) {
        spec.arguments.push_back(reinterpret_cast<std::uint64_t>(argument.data));
        if (argument.data == nullptr || argument.bytes == 0) {
            continue;
        }
        sim::GlobalBuffer buffer;
        buffer.data = argument.data;
        buffer.bytes = argument.bytes;
        buffer.name = argument.name;
        buffer.writable = argument.access != Access::kInput;
        buffer.initialised = argument.access == Access::kInput;
        buffer.output = argument.access == Access::kOutput;
        spec.buffers.push_back(std::move(buffer));
    }
    return spec;
}

}  // namespace

void Run(const Job& job, const RunSettings& settings) {
    const sim::LaunchSpec spec = MakeSpec(job, settings);
    try {
        sim::RunReport report = sim::Launch(spec);
        if (settings.log != nullptr) {
            settings.log->Append(std::move(report));
        }
    } catch (const sim::SimulatorFailure& failure) {
        if (settings.log != nullptr) {
            settings.log->Append(failure.report());
        }
        throw;
    }
}

}  // namespace ascend_attention::launch
