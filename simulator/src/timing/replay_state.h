// SPDX-License-Identifier: Apache-2.0
// What the replay knows about a core and its pipes while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "timing/cost_table.h"
#include "timing/event_stream.h"
#include "timing/memory_system.h"
#include "timing/replay.h"
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
        miss = figure("L2 miss latency");
        queue_depth = static_cast<std::size_t>(figure("queue depth"));
        memory = ReadMemoryFigures(settings);
    }

    double issue;
    double sync_issue;
    double flag;
    double cross_core;
    double miss;
    std::size_t queue_depth;
    MemoryFigures memory;
};

// Something that has been told at a time: a flag's set, with the instruction whose completion it tells.
struct Told {
    double time;
    StepRef by;
};

struct QueueEntry {
    std::uint32_t step;
    double issued;
    Cause cause;  // why it was not issued earlier
    StepRef by;
};

struct PipeState {
    std::deque<QueueEntry> entries;
    double free_at = 0;  // when the next entry may start, and why not before
    Cause cause = Cause::kStart;
    StepRef by;
    double complete_at = 0;  // when all results so far are there, and whose is the last
    StepRef last_complete;
    StepRef last;  // instruction started
    bool scheduled = false;
    bool parked = false;  // the first entry waits for an event that nobody has set yet
    int waits_for = 0;

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
    CoreState(const ReplayCore& core, const CostTable& table)
        : stream(core.stream), block(core.block), cube(core.cube), events(kPipeCount * kPipeCount * 8) {
        for (const InstructionKey& key : stream->instructions) {
            costs.push_back(&table.Find(key));
        }
        timeline.steps.resize(stream->steps.size());
    }

    const Cost& CostOf(const Step& step) const { return *costs[step.instruction]; }

    void Delay(double time, Cause why, StepRef who) {
        if (time > scalar_time) {
            scalar_time = time;
            scalar_cause = why;
            scalar_by = who;
        }
    }

    const EventStream* stream;
    std::uint32_t block;
    bool cube;
    std::vector<const Cost*> costs;  // by instruction of the stream
    CoreTimeline timeline;

    std::uint32_t next = 0;  // step that the scalar unit issues next
    double scalar_time = 0;
    Cause scalar_cause = Cause::kStart;
    StepRef scalar_by;
    Hold hold = Hold::kNone;
    int held_by = 0;

    std::array<PipeState, kPipeCount> pipes;
    std::vector<std::deque<Told>> events;
    std::array<std::deque<Told>, 17> raises;  // of this core's counters
    std::array<std::deque<Told>, 17> given;   // own sets that wait for other participants
};

}  // namespace ascend_attention::sim
