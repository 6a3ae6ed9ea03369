// SPDX-License-Identifier: Apache-2.0
// How one call runs on the simulated machine, and where its report goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "run/launch.h"

namespace ascend_attention::launch {

// Reports of the launches of one `with simulator(...)` block. Several threads may append at once.
class ReportLog {
public:
    // `most_record_bytes`: of timed launches, beside the last one.
    explicit ReportLog(std::size_t most_record_bytes = std::size_t{2} << 30) : most_record_bytes_(most_record_bytes) {}

    void Append(sim::RunReport report) {
        const std::lock_guard<std::mutex> lock(mutex_);
        reports_.push_back(std::move(report));
        LetOldRecordsGo();
    }
    std::vector<sim::RunReport> Reports() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return reports_;
    }

private:
    // Somebody may run a whole model in one block: the records of its last launches are kept, of all others the
    // figures.
    ASCEND_SIM_API void LetOldRecordsGo();

    std::size_t most_record_bytes_;

    mutable std::mutex mutex_;
    std::vector<sim::RunReport> reports_;
};

struct RunSettings {
    std::string soc = "Ascend910B2";
    sim::Mode mode = sim::Mode::kFast;
    sim::CostSource costs = sim::CostSource::kMeasured;  // of timed mode
    std::uint64_t instruction_limit = 0;                 // per core; 0 = the machine's own bound
    int threads = 0;                                     // host threads; 0 = CPUs available to the process
    int cores = 0;                                       // AI cores that plans use at most; 0 = all of the SoC
    bool record_sync = false;                            // see sim::LaunchSpec, as are `ignored` calls
    std::vector<sim::SyncCall> ignored;
    std::shared_ptr<ReportLog> log;  // null: nobody asked for a report
};

}  // namespace ascend_attention::launch
