// SPDX-License-Identifier: Apache-2.0
#include "timing/replay.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "timing/replayer.h"

namespace ascend_attention::sim {

Replayer::Replayer(const std::vector<ReplayCore>& cores, const ReplaySettings& settings)
    : figures_(settings), memory_(figures_.memory) {
    CostLookup costs(*settings.costs);
    cores_.reserve(cores.size());
    for (const ReplayCore& core : cores) {
        cores_.emplace_back(core, costs, settings.keep_steps);
    }
    for (CoreState& state : cores_) {
        for (std::size_t other = 0; other < cores.size(); ++other) {
            const int index = static_cast<int>(other);
            if (cores[other].block == state.block) {
                (cores[other].cube ? state.block_cube : state.block_vectors).push_back(index);
            }
            if (cores[other].cube == state.cube) {
                state.same_type.push_back(index);
            }
        }
    }
}

bool Replayer::Run(std::uint64_t appointments) {
    for (std::size_t core = 0; !started_ && core < cores_.size(); ++core) {
        Issue(static_cast<int>(core), 0);
    }
    started_ = true;
    for (; appointments > 0 && !agenda_.empty(); --appointments) {
        const Appointment next = agenda_.Take();
        if (!agenda_.empty()) {
            // By then the cores between have driven it out of the host's nearest cache.
            const Appointment after = agenda_.Next();
            const PipeState& queue = cores_[static_cast<std::size_t>(after.core)].pipes[after.pipe];
            __builtin_prefetch(queue.soon[0]);
            __builtin_prefetch(queue.soon[1], 1);
        }
        cores_[static_cast<std::size_t>(next.core)].pipes[next.pipe].scheduled = false;
        Work(next.core, next.pipe, next.time);
    }
    return agenda_.empty();
}

// Other cores come first: by then what the step needs is there.
inline void Replayer::Foresee(const CoreState& state, PipeState& queue, const QueueEntry& entry) const {
    const Step& step = state.steps[entry.step];
    if (step.transfers != 0) {
        const Transfer* const transfer = state.transfers + step.first_transfer;
        queue.soon[0] = transfer;
        queue.soon[1] = memory_.PlaceOf(transfer->address);
        __builtin_prefetch(queue.soon[1], 1);
        __builtin_prefetch(transfer + kAhead);
    }
    if (state.timed != nullptr) {
        __builtin_prefetch(state.timed + entry.step + kAhead, 1);
    }
}

StepRef Replayer::Teller(const PipeState& queue, const QueueEntry& entry, double now) {
    if (queue.complete_at >= now) {
        return queue.last_complete;
    }
    return queue.free_at >= entry.issued ? queue.by : entry.by;
}

PipeState& Replayer::OtherOfUnits(CoreState& state, const Step& step) {
    const Pipe other = step.pipe == Pipe::kCube ? Pipe::kFixpipe : Pipe::kCube;
    return state.pipes[static_cast<int>(other)];
}

bool Replayer::TakeUnits(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry,
                         double now, const HandOver** units) {
    const std::vector<UnitWait>& waits = state.stream->unit_waits;
    const auto wait = std::lower_bound(waits.begin(), waits.end(), entry.step,
                                       [](const UnitWait& a, std::uint32_t b) { return a.step < b; });
    if (wait == waits.end() || wait->step != entry.step) {
        return true;
    }
    PipeState& other = OtherOfUnits(state, step);
    if (other.last.core < 0 || other.last.step < wait->by) {
        queue.parked = true;
        queue.waits_for = kNoEvent;
        return false;
    }
    *units = other.Find(wait->by);  // null: long ago
    if (*units != nullptr && (*units)->first > now) {
        queue.HoldUntil((*units)->first, Cause::kUnits, StepRef{index, wait->by});
        Schedule(index, static_cast<int>(step.pipe), (*units)->first);
        return false;
    }
    return true;
}

void Replayer::HandOverUnits(int index, CoreState& state, PipeState& queue, const Step& step, const HandOver& units,
                             double now) {
    constexpr std::size_t kKept = 64;
    constexpr std::uint8_t kHandsOver = 3;
    if (step.target == kHandsOver) {
        queue.handed_over.push_back(
            HandOver{units.step, units.first + figures_.unit_flag, units.last + figures_.unit_flag});
        if (queue.handed_over.size() > kKept) {
            queue.handed_over.pop_front();
        }
    }
    PipeState& other = OtherOfUnits(state, step);
    if (other.parked && other.waits_for == kNoEvent) {
        other.parked = false;
        const Pipe pipe = step.pipe == Pipe::kCube ? Pipe::kFixpipe : Pipe::kCube;
        Schedule(index, static_cast<int>(pipe), now);
    }
}

[[gnu::always_inline]] inline MemorySystem::Answer Replayer::MoveGlobal(const CoreState& state, const Step& step,
                                                                        double now) {
    MemorySystem::Answer shared;
    if (step.transfers == 0) {
        return shared;
    }
    const Transfer* const transfers = state.transfers + step.first_transfer;
    shared = memory_.Move(transfers[0], now);
    for (std::uint32_t i = 1; i < step.transfers; ++i) {
        const MemorySystem::Answer answer = memory_.Move(transfers[i], now);
        shared.done = std::max(shared.done, answer.done);
        shared.missed = shared.missed || answer.missed;
    }
    return shared;
}

[[gnu::always_inline]] inline void Replayer::Execute(int index, CoreState& state, PipeState& queue, const Step& step,
                                                     const QueueEntry& entry, double now, const HandOver* units) {
    const Cost& cost = *state.costs[step.instruction];
    const MemorySystem::Answer shared = MoveGlobal(state, step, now);
    const double own = cost.Occupancy(step.units, step.rows);
    double occupancy = std::max(own, shared.done - now);
    TimedStep timed;
    timed.start = now;
    if (queue.free_at >= entry.issued) {
        timed.cause = queue.cause;
        timed.by = queue.by;
    } else {
        const bool said = entry.cause == Cause::kCrossFlag || entry.cause == Cause::kQueue;
        timed.cause = said ? entry.cause : Cause::kIssue;
        timed.by = entry.by;
    }
    if (units != nullptr && units->last > now + occupancy) {
        occupancy = units->last - now;
        timed.ends_with = true;
        timed.cause = Cause::kUnits;
        timed.by = StepRef{index, units->step};
    }
    timed.own = static_cast<float>(own);
    timed.occupancy = static_cast<float>(occupancy);
    timed.tail = static_cast<float>(cost.tail + (shared.missed ? figures_.miss : 0));
    queue.busy += occupancy;
    queue.own += own;
    const StepRef self{index, entry.step};
    if (state.timed != nullptr) {
        TimedStep& kept = state.timed[entry.step];  // member by member: see Ring::Append
        kept.start = timed.start;
        kept.occupancy = timed.occupancy;
        kept.own = timed.own;
        kept.tail = timed.tail;
        kept.cause = timed.cause;
        kept.ends_with = timed.ends_with;
        kept.by = timed.by;
    }
    Started(state, queue, self, timed);
    if (step.target != 0) {
        // Fixpipe takes results, Mmad takes what has been read.
        const double result = step.pipe == Pipe::kCube ? timed.tail : 0;
        HandOverUnits(index, state, queue, step, HandOver{entry.step, now + result, timed.end() + result}, now);
    }
}

[[gnu::always_inline]] inline void Replayer::Started(CoreState& state, PipeState& queue, StepRef self,
                                                     const TimedStep& timed) {
    const double completion = timed.completion();
    queue.last = self;
    queue.HoldUntil(timed.end(), Cause::kPipe, self);
    if (completion >= queue.complete_at) {
        queue.complete_at = completion;
        queue.last_complete = self;
    }
    if (completion > state.finish) {
        state.finish = completion;
        state.last = self;
    }
}

[[gnu::always_inline]] inline bool Replayer::WorkOne(int index, CoreState& state, PipeState& queue, const Step& step,
                                                     const QueueEntry& entry, double now) {
    if (step.kind == StepKind::kInstruction) {
        const HandOver* units = nullptr;
        if (step.target != 0 && !TakeUnits(index, state, queue, step, entry, now, &units)) {
            return false;
        }
        Execute(index, state, queue, step, entry, now, units);
        return true;
    }
    switch (step.kind) {
        case StepKind::kSet:
            Publish(index, step, std::max(now, queue.complete_at) + figures_.flag, Teller(queue, entry, now), now);
            return true;
        case StepKind::kBarrier:
            queue.HoldUntil(queue.complete_at, Cause::kFlag, queue.last_complete);
            return true;
        case StepKind::kCrossSet:
            CrossSet(index, step, std::max(now, queue.complete_at) + figures_.cross_core, Teller(queue, entry, now),
                     now);
            return true;
        case StepKind::kWait: {
            ToldQueue& told = state.events[EventKey(step)];
            if (told.empty()) {
                queue.parked = true;
                queue.waits_for = EventKey(step);
                return false;
            }
            queue.HoldUntil(told.front().time, told.front().WhyOf(Cause::kFlag), told.front().by);
            if (state.timed != nullptr) {
                state.timed[entry.step].by = told.front().by;
            }
            told.Pop();
            return true;
        }
        case StepKind::kInstruction:
        case StepKind::kCrossWait:
            break;
    }
    throw std::logic_error("a cross-core wait is the scalar unit's own");
}

void Replayer::Work(int index, int pipe, double now) {
    CoreState& state = core(index);
    PipeState& queue = state.pipes[pipe];
    __builtin_prefetch(state.steps + state.next);
    while (!queue.entries.empty()) {
        const QueueEntry& entry = queue.entries.front();
        const double ready = std::max(entry.issued, queue.free_at);
        if (ready > now) {
            if (queue.scheduled || !agenda_.WouldBeNext(ready)) {
                Schedule(index, pipe, ready);
                Foresee(state, queue, entry);
                break;
            }
            now = ready;
        }
        const Step& step = state.steps[entry.step];
        if (!WorkOne(index, state, queue, step, entry, now)) {
            break;
        }
        queue.entries.pop_front();
        if (state.hold == Hold::kQueue && state.held_by == pipe) {
            Issue(index, now);
        }
    }
    if (queue.entries.empty() && state.hold == Hold::kDrain) {
        Issue(index, now);
    }
}

Timeline Replayer::Finish() {
    Timeline result;
    for (CoreState& state : cores_) {
        if (state.hold != Hold::kEnd) {
            throw std::invalid_argument("timing: a core never came to its end");
        }
        state.timeline.finish = state.finish;
        state.timeline.last = state.last;
        state.timeline.last_cause = state.last.core < 0 ? Cause::kStart : Cause::kFlag;
        for (int pipe = 0; pipe < kPipeCount; ++pipe) {
            const bool scalar = static_cast<Pipe>(pipe) == Pipe::kScalar;
            state.timeline.busy[pipe] = scalar ? state.scalar_busy : state.pipes[pipe].busy;
            state.timeline.own[pipe] = scalar ? state.scalar_busy : state.pipes[pipe].own;
        }
        if (state.scalar_time > state.timeline.finish) {
            state.timeline.finish = state.scalar_time;
            state.timeline.last = state.scalar_by;
            state.timeline.last_cause = state.scalar_cause;
        }
        if (state.timeline.finish > result.cycles) {
            result.cycles = state.timeline.finish;
            result.last = state.timeline.last;
            result.last_cause = state.timeline.last_cause;
        }
        result.cores.push_back(std::move(state.timeline));
    }
    result.traffic = memory_.traffic();
    return result;
}

MemoryFigures ReadMemoryFigures(const ReplaySettings& settings) {
    const auto rate = [&](const char* name) {
        return settings.costs->Figure(name, settings.assumption) / settings.clock_hz;
    };
    MemoryFigures figures;
    figures.l2_read = rate("L2 read bandwidth");
    figures.l2_write = rate("L2 write bandwidth");
    figures.hbm = rate("HBM bandwidth") * settings.hbm_share;
    figures.l2_bytes = settings.l2_bytes;
    return figures;
}

Timeline Replay(const std::vector<ReplayCore>& cores, const ReplaySettings& settings) {
    Replayer replayer(cores, settings);
    while (!replayer.Run(std::numeric_limits<std::uint64_t>::max())) {
    }
    return replayer.Finish();
}

}  // namespace ascend_attention::sim
