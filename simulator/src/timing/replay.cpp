// SPDX-License-Identifier: Apache-2.0
#include "timing/replay.h"

#include <algorithm>
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

Timeline Replayer::Run() {
    for (std::size_t core = 0; core < cores_.size(); ++core) {
        Issue(static_cast<int>(core), 0);
    }
    while (!agenda_.empty()) {
        const Appointment next = agenda_.Take();
        cores_[static_cast<std::size_t>(next.core)].pipes[next.pipe].scheduled = false;
        Work(next.core, next.pipe, next.time);
    }
    return Finish();
}

void Replayer::Work(int index, int pipe, double now) {
    CoreState& state = core(index);
    PipeState& queue = state.pipes[pipe];
    while (!queue.entries.empty()) {
        const QueueEntry entry = queue.entries.front();
        const double ready = std::max(entry.issued, queue.free_at);
        if (ready > now) {
            if (queue.scheduled || !agenda_.WouldBeNext(ready)) {
                Schedule(index, pipe, ready);
                break;
            }
            now = ready;
        }
        const Step& step = state.stream->steps[entry.step];
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

bool Replayer::WorkOne(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry,
                       double now) {
    switch (step.kind) {
        case StepKind::kInstruction: {
            const HandOver* units = nullptr;
            if (step.target != 0 && !TakeUnits(index, state, queue, step, entry, now, &units)) {
                return false;
            }
            Execute(index, state, queue, step, entry, now, units);
            return true;
        }
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
            if (!state.timeline.steps.empty()) {
                state.timeline.steps[entry.step].by = told.front().by;
            }
            told.Pop();
            return true;
        }
        case StepKind::kCrossWait:
            break;
    }
    throw std::logic_error("a cross-core wait is the scalar unit's own");
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

void Replayer::HandOverUnits(int index, CoreState& state, PipeState& queue, const Step& step, std::uint32_t at,
                             const TimedStep& timed) {
    constexpr std::size_t kKept = 64;
    constexpr std::uint8_t kHandsOver = 3;
    if (step.target == kHandsOver) {
        // Fixpipe takes results, Mmad takes what has been read.
        const double result = step.pipe == Pipe::kCube ? timed.tail : 0;
        queue.handed_over.push_back(
            HandOver{at, timed.start + result + figures_.unit_flag, timed.end() + result + figures_.unit_flag});
        if (queue.handed_over.size() > kKept) {
            queue.handed_over.pop_front();
        }
    }
    PipeState& other = OtherOfUnits(state, step);
    if (other.parked && other.waits_for == kNoEvent) {
        other.parked = false;
        const Pipe pipe = step.pipe == Pipe::kCube ? Pipe::kFixpipe : Pipe::kCube;
        Schedule(index, static_cast<int>(pipe), timed.start);
    }
}

MemorySystem::Answer Replayer::MoveGlobal(const CoreState& state, const Step& step, double now) {
    MemorySystem::Answer shared;
    if (step.transfers == 0) {
        return shared;
    }
    const Transfer* const transfers = &state.stream->transfers[step.first_transfer];
    __builtin_prefetch(transfers + step.transfers);  // other cores come first: by then it is there
    for (std::uint32_t i = 0; i < step.transfers; ++i) {
        const MemorySystem::Answer answer = memory_.Move(transfers[i], now);
        shared.done = std::max(shared.done, answer.done);
        shared.missed = shared.missed || answer.missed;
    }
    return shared;
}

void Replayer::Execute(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry,
                       double now, const HandOver* units) {
    const Cost& cost = state.CostOf(step);
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
    const int pipe = static_cast<int>(step.pipe);
    state.timeline.busy[pipe] += occupancy;
    state.timeline.own[pipe] += own;
    Started(index, state, queue, entry.step, timed);
    if (step.target != 0) {
        HandOverUnits(index, state, queue, step, entry.step, timed);
    }
}

void Replayer::Started(int index, CoreState& state, PipeState& queue, std::uint32_t at, const TimedStep& timed) {
    const StepRef self{index, at};
    queue.last = self;
    queue.HoldUntil(timed.end(), Cause::kPipe, self);
    if (timed.completion() >= queue.complete_at) {
        queue.complete_at = timed.completion();
        queue.last_complete = self;
    }
    if (timed.completion() > state.timeline.finish) {
        state.timeline.finish = timed.completion();
        state.timeline.last = self;
        state.timeline.last_cause = Cause::kFlag;
    }
    if (!state.timeline.steps.empty()) {
        state.timeline.steps[at] = timed;
    }
}

Timeline Replayer::Finish() {
    Timeline result;
    for (CoreState& state : cores_) {
        if (state.hold != Hold::kEnd) {
            throw std::invalid_argument("timing: a core never came to its end");
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
    return Replayer(cores, settings).Run();
}

}  // namespace ascend_attention::sim
