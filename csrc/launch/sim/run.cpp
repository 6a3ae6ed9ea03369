// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include <dlfcn.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/text.h"
#include "launch/sim/run_settings.h"
#include "plan/block_ids.h"
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

void Register(const Argument& argument, sim::LaunchSpec* spec) {
    if (argument.data == nullptr || argument.bytes == 0) {
        return;
    }
    sim::GlobalBuffer buffer;
    buffer.data = argument.data;
    buffer.bytes = argument.bytes;
    buffer.name = argument.name;
    buffer.writable = argument.access != Access::kInput;
    buffer.initialised = argument.access == Access::kInput;
    buffer.output = argument.access == Access::kOutput;
    spec->buffers.push_back(std::move(buffer));
}

sim::LaunchSpec MakeSpec(const Job& job, const RunSettings& settings) {
    sim::LaunchSpec spec;
    spec.kernel = FindKernel(job.plan->kernel);
    spec.blocks = job.plan->block_count;
    spec.soc = settings.soc;
    spec.mode = settings.mode;
    spec.costs = settings.costs;
    spec.threads = settings.threads;
    spec.instruction_limit = settings.instruction_limit;
    spec.record_sync = settings.record_sync;
    spec.ignored = settings.ignored;
    for (const Argument& argument : job.arguments) {
        spec.arguments.push_back(reinterpret_cast<std::uint64_t>(argument.data));
        Register(argument, &spec);
    }
    for (const Argument& input : job.listed) {
        Register(input, &spec);
    }
    return spec;
}

// A device would read outside of the cache; here the table can be read, so its mistake is named.
void CheckBlockIds(const Job& job, const sim::LaunchSpec& spec) {
    const PagedCache& cache = job.cache;
    if (cache.block_table == nullptr) {
        return;
    }
    const std::optional<UnknownBlock> found =
        FindUnknownBlock(*job.plan, cache.block_table, cache.columns, cache.blocks);
    if (!found.has_value()) {
        return;
    }
    const std::string text = Concat(job.op, ": block_table[", found->batch, ", ", found->column, "] is ", found->id,
                                    ", the cache has ", cache.blocks, cache.blocks == 1 ? " block" : " blocks",
                                    ": batch ", found->batch, ", key positions ", found->first, " to ", found->last);
    sim::RunReport report;
    report.kernel = job.plan->kernel;
    report.soc = spec.soc;
    report.mode = spec.mode;
    report.blocks = spec.blocks;
    report.findings.push_back({sim::Severity::kError, "bounds", text});
    throw sim::SimulatorFailure(text, std::move(report));
}

}  // namespace

void Run(const Job& job, const RunSettings& settings) {
    const sim::LaunchSpec spec = MakeSpec(job, settings);
    try {
        CheckBlockIds(job, spec);
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
