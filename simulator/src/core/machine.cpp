// SPDX-License-Identifier: Apache-2.0
#include "core/machine.h"

#include "core/checker.h"
#include "core/sync.h"

namespace ascend_attention::sim {

namespace {

// Bounds a run that never ends. A prefill of 128 K keys issues some 10^7 instructions per core.
constexpr std::uint64_t kDefaultInstructionLimit = 2'000'000'000;

}  // namespace

Machine::Machine(const LaunchSpec& spec)
    : mode_(spec.mode),
      kind_(spec.kernel.kind),
      blocks_(spec.blocks),
      instruction_limit_(spec.instruction_limit == 0 ? kDefaultInstructionLimit : spec.instruction_limit),
      kernel_name_(spec.kernel.name),
      soc_(spec.soc),
      global_(spec.buffers),
      checker_(spec.mode == Mode::kChecked ? std::make_unique<GlobalChecker>(global_) : nullptr),
      flags_(std::make_unique<CrossCoreFlags>()) {
    for (std::uint32_t block = 0; block < blocks_; ++block) {
        if (kind_ != KernelKind::kVectorOnly) {
            cores_.push_back(std::make_unique<Core>(*this, CoreIdentity{block, CoreType::kCube, 0}));
        }
        if (kind_ != KernelKind::kCubeOnly) {
            const std::uint32_t subs = kind_ == KernelKind::kMix ? 2 : 1;
            for (std::uint32_t sub = 0; sub < subs; ++sub) {
                cores_.push_back(std::make_unique<Core>(*this, CoreIdentity{block, CoreType::kVector, sub}));
            }
        }
    }
    for (std::size_t i = 0; i < cores_.size(); ++i) {
        cores_[i]->set_index(static_cast<int>(i));
    }
}

Machine::~Machine() = default;

Core& Machine::core(std::uint32_t block, CoreType type, std::uint32_t sub) {
    const std::uint32_t per_block = kind_ == KernelKind::kMix ? 3 : 1;
    const std::uint32_t offset = kind_ == KernelKind::kMix && type == CoreType::kVector ? 1 + sub : 0;
    return *cores_[block * per_block + offset];
}

RunReport Machine::Report() const {
    RunReport report;
    report.kernel = kernel_name_;
    report.soc = soc_;
    report.mode = mode_;
    report.blocks = blocks_;
    for (const std::unique_ptr<Core>& core : cores_) {
        report.cores.push_back(CoreReport{core->name(), core->instructions()});
        for (int pipe = 0; pipe < kPipeCount; ++pipe) {
            report.instructions[pipe] += core->instructions()[pipe];
        }
        report.global_bytes_read += core->global_bytes_read;
        report.global_bytes_written += core->global_bytes_written;
    }
    return report;
}

}  // namespace ascend_attention::sim
