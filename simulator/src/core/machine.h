// SPDX-License-Identifier: Apache-2.0
// Everything the cores of one launch share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/core.h"
#include "core/findings.h"
#include "core/global_memory.h"
#include "run/launch.h"

namespace ascend_attention::sim {

class GlobalChecker;
class CrossCoreFlags;

constexpr bool HasCube(KernelKind kind) { return kind != KernelKind::kVectorOnly; }
constexpr std::uint32_t VectorsPerBlock(KernelKind kind) {
    return kind == KernelKind::kMix ? 2 : kind == KernelKind::kCubeOnly ? 0 : 1;
}
constexpr bool IsMix(KernelKind kind) { return HasCube(kind) && VectorsPerBlock(kind) > 0; }
constexpr std::uint32_t CoresPerBlock(KernelKind kind) { return (HasCube(kind) ? 1 : 0) + VectorsPerBlock(kind); }

class Machine {
public:
    // Creates the cores of `spec.blocks` blocks. Throws std::invalid_argument for buffers that cannot be registered.
    explicit Machine(const LaunchSpec& spec);
    ~Machine();

    Mode mode() const { return mode_; }
    KernelKind kind() const { return kind_; }
    const std::string& soc() const { return soc_; }
    const std::string& kernel_name() const { return kernel_name_; }
    std::uint32_t blocks() const { return blocks_; }
    std::uint64_t instruction_limit() const { return instruction_limit_; }
    bool traces_sync() const { return record_sync_ || !ignored_.empty(); }
    const std::vector<SyncCall>& ignored() const { return ignored_; }
    bool auto_sync() const { return auto_sync_; }
    bool echo() const { return echo_; }
    // Timed mode: a core's record has grown by so many bytes. False when all of them together take too many.
    bool TakeRecordBytes(std::uint64_t bytes) {
        return record_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= record_limit_;
    }
    std::uint64_t record_limit() const { return record_limit_; }
    GlobalMemory& global() { return global_; }
    FindingLog& log() { return log_; }
    std::vector<std::unique_ptr<Core>>& cores() { return cores_; }
    Core& core(std::uint32_t block, CoreType type, std::uint32_t sub);
    // The AIVs of a block.
    std::vector<Core*> vectors(std::uint32_t block);
    CrossCoreFlags& flags() { return *flags_; }
    GlobalChecker* checker() { return checker_.get(); }

    // Set when a core has failed: the others end at their next instruction.
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
    void Stop() { stopping_.store(true, std::memory_order_relaxed); }

    // Wakes host threads whose fibers all wait. Counted, so that a thread that is about to sleep notices.
    void Progress();
    std::uint64_t progress() const { return progress_.load(std::memory_order_acquire); }
    std::mutex& sleep_mutex() { return sleep_mutex_; }
    std::condition_variable& sleepers() { return sleepers_; }

    // Totals of all cores, without findings.
    RunReport Report() const;

private:
    Mode mode_;
    KernelKind kind_;
    std::uint32_t blocks_;
    std::uint64_t instruction_limit_;
    bool auto_sync_;
    bool echo_;
    std::string kernel_name_;
    std::string soc_;
    bool record_sync_;
    std::vector<SyncCall> ignored_;
    std::uint64_t record_limit_;
    std::atomic<std::uint64_t> record_bytes_{0};
    GlobalMemory global_;
    FindingLog log_;
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> progress_{0};
    std::mutex sleep_mutex_;
    std::condition_variable sleepers_;
    std::unique_ptr<GlobalChecker> checker_;
    std::unique_ptr<CrossCoreFlags> flags_;
    std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace ascend_attention::sim
