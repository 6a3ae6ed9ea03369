// SPDX-License-Identifier: Apache-2.0
// In-core events of one core, and the cross-core flags of a launch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/core.h"
#include "machine/call.h"

namespace ascend_attention::sim {

constexpr int kEventIds = 8;
constexpr int kFlagIds = 16;
constexpr int kFlagLimit = 15;
// "flag 3", or what the kernel calls instead of naming one.
std::string FlagName(int flag);

struct EventState {
    bool set = false;
    Site site{"", 0};
    Clock clock;  // checked mode: what the setting pipe knew
};

struct CoreSync {
    std::array<EventState, kPipeCount * kPipeCount * kEventIds> events;
    std::array<std::uint8_t, kPipeCount * kPipeCount> taken{};  // ids that TPipe has given out
    // What a wait for words in global memory needs, and its name in a report. Null: the core waits for a flag.
    std::function<bool()> can_go_on;
    std::string waits_for;
    bool warned_event_id = false;
    bool warned_flag_id = false;

    EventState& event(Pipe source, Pipe target, int id) {
        return events[static_cast<std::size_t>(
            (static_cast<int>(source) * kPipeCount + static_cast<int>(target)) * kEventIds + id)];
    }
    std::uint8_t& taken_ids(Pipe source, Pipe target) {
        return taken[static_cast<std::size_t>(static_cast<int>(source) * kPipeCount + static_cast<int>(target))];
    }
};

// What PipeBarrier does, as a part of another call too.
void PassBarrier(Core& core, Pipe pipe, Site site);
// A set and its wait by library code, with the id that it would fetch.
void PassFlag(Pipe source, Pipe target, Site site);
// Events that were set and never waited for.
void ReportLeftoverEvents(Core& core);

// What words in global memory tell: what a core knew when it wrote one, by address and round. Checked mode only.
class MemoryFlags {
public:
    void Publish(Core& core, std::uint64_t address, std::int32_t round);
    void Learn(Core& core, std::uint64_t address, std::int32_t round);

private:
    std::map<std::pair<std::uint64_t, std::int32_t>, Clock> told_;
};

// Counters of cross-core flags. A core waits on its own counter; a set raises counters of other cores, at once or when
// all participants have set. Cores of one block share a host thread, but mode 0 raises counters of cores of every
// thread, also those that the modes inside a block raise: every set takes the mutex.
class CrossCoreFlags {
public:
    explicit CrossCoreFlags(Machine& machine) : machine_(machine) {}
    // After the cores exist.
    void Prepare();

    void Set(Core& core, int mode, const Call& call, int flag);
    // Whether a wait would go through now.
    bool Ready(const Core& core, int flag) const;
    // Consumes one count, which must be there.
    void Consume(Core& core, int flag);
    void ReportLeftovers();
    MemoryFlags& words() { return words_; }

private:
    struct Counter {
        std::atomic<int> count{0};
        int last_mode = -1;         // of the core's own sets
        std::atomic<int> given{0};  // own sets that still wait for other participants
        Site last_set{"", 0};       // of a set that is still pending here
        PendingClocks clocks;
        PendingClocks given_clocks;
    };

    Counter& counter(const Core& core, int flag) {
        return counters_[static_cast<std::size_t>(core.index() * kFlagIds + flag)];
    }
    const Counter& counter(const Core& core, int flag) const {
        return counters_[static_cast<std::size_t>(core.index() * kFlagIds + flag)];
    }
    // What a set of this mode adds to.
    void RaiseOf(Core& core, int mode, const Call& call, int flag);
    void Raise(Core& target, int flag, const Clock& clock, Core& setter, const Call& call);
    // Adds this core's part; when every participant has one, raises `targets`.
    void Gather(const std::vector<Core*>& participants, const std::vector<Core*>& targets, Core& setter,
                const Call& call, int flag);
    std::vector<Core*> SameType(const Core& core);

    Machine& machine_;
    std::mutex mutex_;
    std::vector<Counter> counters_;
    MemoryFlags words_;
};

}  // namespace ascend_attention::sim
