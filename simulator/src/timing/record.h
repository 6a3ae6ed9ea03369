// SPDX-License-Identifier: Apache-2.0
// What a timed launch leaves for those who want to look at it: every step of every core with its time. 24 bytes a step,
// 32 for its times and 40 for each piece of global memory that it moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "timing/event_stream.h"
#include "timing/timeline.h"

namespace ascend_attention::sim {

struct RecordedCore {
    std::string name;  // as reports give it: "block 3 AIV1"
    std::uint32_t block = 0;
    bool cube = false;
};

struct RunRecord {
    std::vector<EventStream> streams;  // by core, as `cores` and timeline.cores
    std::vector<RecordedCore> cores;
    Timeline timeline;  // of the middle assumption
    std::string kernel;
    std::string soc;
    std::string costs;  // "measured" or "documented"
    double clock_hz = 0;
    double head_microseconds = 0;

    double Nanoseconds(double cycles) const { return cycles / clock_hz * 1e9; }
    ASCEND_SIM_API std::size_t bytes() const;
};

// A record that several reports share and that one of them may let go for all.
class KeptRecord {
public:
    explicit KeptRecord(RunRecord record) : record_(std::make_shared<const RunRecord>(std::move(record))) {}

    // Null once it has been released. Who holds the answer may go on reading.
    std::shared_ptr<const RunRecord> Get() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return record_;
    }
    void Release() {
        std::shared_ptr<const RunRecord> last;  // freed outside of the lock
        const std::lock_guard<std::mutex> lock(mutex_);
        last.swap(record_);
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const RunRecord> record_;
};

}  // namespace ascend_attention::sim
