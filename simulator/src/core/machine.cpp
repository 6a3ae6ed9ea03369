// SPDX-License-Identifier: Apache-2.0
#include "core/machine.h"

#include "core/checker.h"
#include "core/sync.h"
#include "core/sync_trace.h"
#include "timing/host_memory.h"

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
      auto_sync_(spec.auto_sync),
      echo_(spec.echo),
      kernel_name_(spec.kernel.name),
      soc_(spec.soc),
      record_sync_(spec.record_sync),
      ignored_(spec.ignored),
      record_limit_(spec.mode != Mode::kTimed ? 0
                    : spec.record_bytes != 0  ? spec.record_bytes
                                              : AvailableHostMemory() / 10 * 9),
      global_(spec.buffers),
      checker_(spec.mode == Mode::kChecked
                   ? std::make_unique<GlobalChecker>(global_, spec.blocks * CoresPerBlock(spec.kernel.kind))
                   : nullptr),
      flags_(std::make_unique<CrossCoreFlags>(*this)) {
    const auto add = [this](std::uint32_t block, CoreType type, std::uint32_t sub) {
        const int index = static_cast<int>(cores_.size());
        cores_.push_back(std::make_unique<Core>(*this, CoreIdentity{block, type, sub}, index));
    };
    for (std::uint32_t block = 0; block < blocks_; ++block) {
        if (HasCube(kind_)) {
            add(block, CoreType::kCube, 0);
        }
        for (std::uint32_t sub = 0; sub < VectorsPerBlock(kind_); ++sub) {
            add(block, CoreType::kVector, sub);
        }
    }
    flags_->Prepare();
}

Machine::~Machine() = default;

void Machine::Progress() {
    {
        const std::lock_guard<std::mutex> lock(sleep_mutex_);
        progress_.fetch_add(1, std::memory_order_acq_rel);
    }
    sleepers_.notify_all();
}

Core& Machine::core(std::uint32_t block, CoreType type, std::uint32_t sub) {
    const std::uint32_t offset = type == CoreType::kVector ? (HasCube(kind_) ? 1 : 0) + sub : 0;
    return *cores_[block * CoresPerBlock(kind_) + offset];
}

std::vector<Core*> Machine::vectors(std::uint32_t block) {
    std::vector<Core*> result;
    for (std::uint32_t sub = 0; sub < VectorsPerBlock(kind_); ++sub) {
        result.push_back(&core(block, CoreType::kVector, sub));
    }
    return result;
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
        report.printed += core->Printed();
        report.global_bytes_read += core->global_bytes_read;
        report.global_bytes_written += core->global_bytes_written;
        if (record_sync_) {
            core->sync_trace()->AddTo(report.sync_calls);
        }
    }
    return report;
}

}  // namespace ascend_attention::sim
