// SPDX-License-Identifier: Apache-2.0
// What the replay knows about a core and its pipes while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "timing/cost_table.h"
#include "timing/event_stream.h"
#include "timing/memory_system.h"
#include "timing/replay.h"
#include "timing/ring.h"
#include "timing/timeline.h"

namespace ascend_attention::sim {

// Figures of the machine in cycles, for one assumption.
struct ReplayFigures {
    explicit ReplayFigures(const ReplaySettings& settings) {
        const auto figure = [&](const char* name) { return settings.costs->Figure(name, settings.assumption); };
        issue = figure("scalar issue");
        sync_issue = figure("sync issue");
        flag = figure("flag latency");
        cross_core = figure("cross-core latency");
        unit_flag = figure("unit flag latency");
        mask = figure("mask setting");
        miss = figure("L2 miss latency");
        queue_depth = static_cast<std::size_t>(figure("queue depth"));
        memory = ReadMemoryFigures(settings);
    }

    double issue;
    double sync_issue;
    double flag;
    double cross_core;
    double unit_flag;
    double mask;
    double miss;
    std::size_t queue_depth;
    MemoryFigures memory;
};

// Something that has been told at a time: a flag's set, with the instruction whose completion it tells.
struct Told {
    double time;
    StepRef by;

    // Why whoever hears it went on when it did. Without work before a set it was the scalar unit that came to it late.
    Cause WhyOf(Cause flag) const { return by.core < 0 ? Cause::kIssue : flag; }
};

// First in, first out. Nearly always empty or of one entry, and there are hundreds of them.
class ToldQueue {
public:
    bool empty() const { return head_ == items_.size(); }
    const Told& front() const { return items_[head_]; }
    void Push(const Told& told) {
        Told& last = items_.emplace_back();  // member by member: see Ring::Append
        last.time = told.time;
        last.by = told.by;
    }
    Told Pop() {
        const Told told = items_[head_++];
        if (empty()) {
            items_.clear();
            head_ = 0;
        }
        return told;
    }

private:
    std::vector<Told> items_;
    std::size_t head_ = 0;
};

struct QueueEntry {
    std::uint32_t step = 0;
    Cause cause = Cause::kStart;  // why it was not issued earlier
    double issued = 0;
    StepRef by;
};

// What an instruction with unitFlag 3 hands over, as the other pipe sees it.
struct HandOver {
    std::uint32_t step = 0;
    double first = 0;  // from when on the other pipe may take units, and when it has the last one
    double last = 0;
};

constexpr int kNoEvent = -1;

// Two cache lines of the host: a replay comes back to the pipes of all cores in turn.
struct alignas(64) PipeState {
    Ring<QueueEntry> entries;
    double free_at = 0;  // when the next entry may start, and why not before
    StepRef by;
    double complete_at = 0;  // when all results so far are there, and whose is the last
    StepRef last_complete;
    StepRef last;  // instruction started
    Cause cause = Cause::kStart;
    bool scheduled = false;
    bool parked = false;  // the first entry waits for an event that nobody has set yet, or for units of L0C
    int waits_for = kNoEvent;
    double busy = 0;  // cycles so far, as in CoreTimeline
    double own = 0;
    Ring<HandOver> handed_over;  // the last few
    const void* soon[2] = {};    // what the host will look at when the pipe goes on: Replayer::Foresee

    const HandOver* Find(std::uint32_t step) const {
        for (std::size_t i = handed_over.size(); i > 0; --i) {
            if (handed_over[i - 1].step == step) {
                return &handed_over[i - 1];
            }
        }
        return nullptr;
    }

    void HoldUntil(double time, Cause why, StepRef who) {
        if (time > free_at) {
            free_at = time;
            cause = why;
            by = who;
        }
    }
};

enum class Hold : std::uint8_t { kNone, kQueue, kCrossFlag, kEvent, kDrain, kEnd };

inline int EventKey(const Step& step) { return (static_cast<int>(step.pipe) * kPipeCount + step.target) * 8 + step.id; }

struct CoreState {
    CoreState(const ReplayCore& core, CostLookup& lookup, bool keep_steps)
        : steps(core.stream->steps.data()),
          transfers(core.stream->transfers.data()),
          step_count(static_cast<std::uint32_t>(core.stream->steps.size())),
          stream(core.stream),
          block(core.block),
          cube(core.cube),
          events(kPipeCount * kPipeCount * 8) {
        for (const InstructionKey& key : stream->instructions) {
            costs.push_back(&lookup.Find(key));
        }
        if (keep_steps) {
            timeline.steps.resize(stream->steps.size());
            timed = timeline.steps.data();
        }
    }

    const Cost& CostOf(const Step& step) const { return *costs[step.instruction]; }

    // The scalar unit works.
    void Spend(double cycles) {
        scalar_time += cycles;
        scalar_busy += cycles;
    }
    void Delay(double time, Cause why, StepRef who) {
        if (time > scalar_time) {
            scalar_time = time;
            scalar_cause = why;
            scalar_by = who;
        }
    }

    // What every step needs comes first, in as few cache lines of the host as it takes.
    const Step* steps;  // of the stream
    const Transfer* transfers;
    TimedStep* timed = nullptr;  // in the timeline, when steps are kept
    std::uint32_t step_count;
    std::uint32_t next = 0;  // step that the scalar unit issues next
    double scalar_time = 0;
    double scalar_busy = 0;
    StepRef scalar_by;
    Cause scalar_cause = Cause::kStart;
    Hold hold = Hold::kNone;
    int held_by = 0;
    std::vector<const Cost*> costs;  // by instruction of the stream
    double finish = 0;               // as in CoreTimeline, until now
    StepRef last;
    const EventStream* stream;
    std::uint32_t block;
    bool cube;
    CoreTimeline timeline;

    std::array<PipeState, kPipeCount> pipes;
    std::vector<ToldQueue> events;
    std::array<ToldQueue, kCrossFlags> raises;  // of this core's counters
    std::array<ToldQueue, kCrossFlags> given;   // own sets that wait for other participants
    std::vector<int> block_vectors;             // cores that its flags reach
    std::vector<int> block_cube;
    std::vector<int> same_type;
};

}  // namespace ascend_attention::sim
