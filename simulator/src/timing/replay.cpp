// SPDX-License-Identifier: Apache-2.0
#include "timing/replay.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>

#include "timing/replay_state.h"

namespace ascend_attention::sim {

namespace {

class Replayer {
public:
    Replayer(const std::vector<ReplayCore>& cores, const ReplaySettings& settings)
        : figures_(settings), memory_(figures_.memory) {
        for (const ReplayCore& core : cores) {
            cores_.emplace_back(core, *settings.costs);
        }
    }

    Timeline Run() {
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            Issue(static_cast<int>(core), 0);
        }
        while (!agenda_.empty()) {
            const Appointment next = agenda_.top();
            agenda_.pop();
            cores_[static_cast<std::size_t>(next.core)].pipes[next.pipe].scheduled = false;
            Work(next.core, next.pipe, next.time);
        }
        return Finish();
    }

private:
    struct Appointment {
        double time;
        std::uint64_t order;  // ties in the order they were made
        int core;
        int pipe;
        bool operator<(const Appointment& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    CoreState& core(int index) { return cores_[static_cast<std::size_t>(index)]; }

    void Schedule(int index, int pipe, double time) {
        PipeState& state = core(index).pipes[pipe];
        if (!state.scheduled) {
            state.scheduled = true;
            agenda_.push(Appointment{time, appointments_++, index, pipe});
        }
    }

    // The scalar unit goes on from `now` until something holds it up.
    void Issue(int index, double now) {
        CoreState& state = core(index);
        const std::vector<Step>& steps = state.stream->steps;
        if (state.hold == Hold::kQueue) {
            state.Delay(now, Cause::kQueue, state.pipes[state.held_by].last);
        }
        state.hold = Hold::kNone;
        while (state.next < steps.size()) {
            const Step& step = steps[state.next];
            if (!IssueOne(index, state, step)) {
                return;
            }
            ++state.next;
        }
        state.hold = Hold::kEnd;
    }

    // False when the scalar unit cannot go past the step yet.
    bool IssueOne(int index, CoreState& state, const Step& step) {
        switch (step.kind) {
            case StepKind::kCrossWait:
                return PassCrossWait(state, step);
            case StepKind::kBarrier:
                if (step.pipe == Pipe::kAll) {
                    return Drain(state);
                }
                break;
            case StepKind::kWait:
                if (static_cast<Pipe>(step.target) == Pipe::kScalar) {
                    return PassScalarWait(state, step);
                }
                return Enqueue(index, state, step.target);
            case StepKind::kSet:
                if (step.pipe == Pipe::kScalar) {
                    state.scalar_time += figures_.sync_issue;
                    Publish(index, step, state.scalar_time, state.scalar_by, state.scalar_time);
                    return true;
                }
                break;
            case StepKind::kInstruction:
                if (step.pipe == Pipe::kScalar) {
                    const double start = state.scalar_time;
                    state.scalar_time += state.CostOf(step).Occupancy(step.units, 0);
                    Note(state, start, state.scalar_cause, state.scalar_by);
                    return true;
                }
                break;
            case StepKind::kCrossSet:
                break;
        }
        return Enqueue(index, state, static_cast<int>(step.pipe));
    }

    bool Enqueue(int index, CoreState& state, int pipe) {
        PipeState& queue = state.pipes[pipe];
        if (queue.entries.size() >= figures_.queue_depth) {
            state.hold = Hold::kQueue;
            state.held_by = pipe;
            return false;
        }
        const bool instruction = state.stream->steps[state.next].kind == StepKind::kInstruction;
        state.scalar_time += instruction ? figures_.issue : figures_.sync_issue;
        queue.entries.push_back(QueueEntry{state.next, state.scalar_time, state.scalar_cause, state.scalar_by});
        if (queue.entries.size() == 1 && !queue.parked) {
            Schedule(index, pipe, std::max(state.scalar_time, queue.free_at));
        }
        return true;
    }

    bool PassCrossWait(CoreState& state, const Step& step) {
        std::deque<Told>& raises = state.raises[step.id];
        if (raises.empty()) {
            state.hold = Hold::kCrossFlag;
            state.held_by = step.id;
            return false;
        }
        const double start = state.scalar_time;
        state.scalar_time += figures_.sync_issue;
        state.Delay(raises.front().time, Cause::kCrossFlag, raises.front().by);
        Note(state, start, Cause::kCrossFlag, raises.front().by);
        raises.pop_front();
        return true;
    }

    bool PassScalarWait(CoreState& state, const Step& step) {
        std::deque<Told>& told = state.events[EventKey(step)];
        if (told.empty()) {
            state.hold = Hold::kEvent;
            state.held_by = EventKey(step);
            return false;
        }
        const double start = state.scalar_time;
        state.scalar_time += figures_.sync_issue;
        state.Delay(told.front().time, Cause::kFlag, told.front().by);
        Note(state, start, Cause::kFlag, told.front().by);
        told.pop_front();
        return true;
    }

    // What the scalar unit did itself, or waited for, since `start`.
    static void Note(CoreState& state, double start, Cause cause, StepRef by) {
        TimedStep& timed = state.timeline.steps[state.next];
        timed.start = start;
        timed.occupancy = static_cast<float>(state.scalar_time - start);
        timed.cause = cause;
        timed.by = by;
    }

    // PipeBarrier<PIPE_ALL>: every queue empty and every result there.
    bool Drain(CoreState& state) {
        for (const PipeState& pipe : state.pipes) {
            if (!pipe.entries.empty()) {
                state.hold = Hold::kDrain;
                return false;
            }
        }
        const double start = state.scalar_time;
        state.scalar_time += figures_.sync_issue;
        for (const PipeState& pipe : state.pipes) {
            state.Delay(pipe.free_at, pipe.cause, pipe.by);
            state.Delay(pipe.complete_at, Cause::kFlag, pipe.last_complete);
        }
        Note(state, start, state.scalar_cause, state.scalar_by);
        return true;
    }

    // The pipe goes on at `now` until it has to wait.
    void Work(int index, int pipe, double now) {
        CoreState& state = core(index);
        PipeState& queue = state.pipes[pipe];
        while (!queue.entries.empty()) {
            const QueueEntry entry = queue.entries.front();
            const double ready = std::max(entry.issued, queue.free_at);
            if (ready > now) {
                Schedule(index, pipe, ready);
                break;
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

    // False when the pipe has to wait: it is scheduled, or parked until somebody wakes it.
    bool WorkOne(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry, double now) {
        switch (step.kind) {
            case StepKind::kInstruction:
                Execute(index, state, queue, step, entry, now);
                return true;
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
                std::deque<Told>& told = state.events[EventKey(step)];
                if (told.empty()) {
                    queue.parked = true;
                    queue.waits_for = EventKey(step);
                    return false;
                }
                queue.HoldUntil(told.front().time, Cause::kFlag, told.front().by);
                state.timeline.steps[entry.step].by = told.front().by;
                told.pop_front();
                return true;
            }
            case StepKind::kCrossWait:
                break;
        }
        throw std::logic_error("a cross-core wait is the scalar unit's own");
    }

    // Whom a set that is told at `now` had to wait for: the last result of its pipe, else what kept the pipe or the
    // scalar unit from coming to it.
    static StepRef Teller(const PipeState& queue, const QueueEntry& entry, double now) {
        if (queue.complete_at >= now) {
            return queue.last_complete;
        }
        return queue.free_at >= entry.issued ? queue.by : entry.by;
    }

    void Execute(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry, double now) {
        const Cost& cost = state.CostOf(step);
        MemorySystem::Answer shared;
        for (std::uint32_t i = 0; i < step.transfers; ++i) {
            const Transfer& transfer = state.stream->transfers[step.first_transfer + i];
            const MemorySystem::Answer answer = memory_.Move(transfer, now);
            shared.done = std::max(shared.done, answer.done);
            shared.missed = shared.missed || answer.missed;
        }
        TimedStep& timed = state.timeline.steps[entry.step];
        const double own = cost.Occupancy(step.units, step.rows);
        const double occupancy = std::max(own, shared.done - now);
        timed.start = now;
        timed.own = static_cast<float>(own);
        timed.occupancy = static_cast<float>(occupancy);
        timed.tail = static_cast<float>(cost.tail + (shared.missed ? figures_.miss : 0));
        if (queue.free_at >= entry.issued) {
            timed.cause = queue.cause;
            timed.by = queue.by;
        } else {
            const bool said = entry.cause == Cause::kCrossFlag || entry.cause == Cause::kQueue;
            timed.cause = said ? entry.cause : Cause::kIssue;
            timed.by = entry.by;
        }
        const int pipe = static_cast<int>(step.pipe);
        state.timeline.busy[pipe] += occupancy;
        state.timeline.own[pipe] += own;
        if (step.pipe == Pipe::kCube) {
            state.timeline.cube_work += cost.per_unit * step.units;
        }
        const StepRef self{index, entry.step};
        queue.last = self;
        queue.HoldUntil(now + occupancy, Cause::kPipe, self);
        if (timed.completion() >= queue.complete_at) {
            queue.complete_at = timed.completion();
            queue.last_complete = self;
        }
        if (timed.completion() > state.timeline.finish) {
            state.timeline.finish = timed.completion();
            state.timeline.last = self;
            state.timeline.last_cause = Cause::kFlag;
        }
    }

    // SetFlag has taken effect at `time`; known since `now`.
    void Publish(int index, const Step& step, double time, StepRef by, double now) {
        CoreState& state = core(index);
        const int key = EventKey(step);
        state.events[key].push_back(Told{time, by});
        PipeState& target = state.pipes[step.target];
        if (static_cast<Pipe>(step.target) == Pipe::kScalar) {
            if (state.hold == Hold::kEvent && state.held_by == key) {
                Issue(index, now);
            }
        } else if (target.parked && target.waits_for == key) {
            target.parked = false;
            Schedule(index, step.target, now);
        }
    }

    void CrossSet(int index, const Step& step, double time, StepRef by, double now) {
        const int flag = step.id;
        const int mode = step.target;
        CoreState& setter = core(index);
        if (mode == 2 && setter.cube) {
            for (const int vector : CoresOf(setter.block, false)) {
                Raise(vector, flag, Told{time, by}, now);
            }
            return;
        }
        setter.given[flag].push_back(Told{time, by});
        const std::vector<int> participants = mode == 0 ? AllOf(setter.cube) : CoresOf(setter.block, false);
        Told last{0, {}};
        for (const int participant : participants) {
            if (core(participant).given[flag].empty()) {
                return;
            }
        }
        for (const int participant : participants) {
            const Told told = core(participant).given[flag].front();
            core(participant).given[flag].pop_front();
            if (told.time >= last.time) {
                last = told;
            }
        }
        for (const int target : mode == 2 ? CoresOf(setter.block, true) : participants) {
            Raise(target, flag, last, now);
        }
    }

    void Raise(int index, int flag, const Told& told, double now) {
        CoreState& state = core(index);
        state.raises[flag].push_back(told);
        if (state.hold == Hold::kCrossFlag && state.held_by == flag) {
            Issue(index, now);
        }
    }

    std::vector<int> CoresOf(std::uint32_t block, bool cube) const {
        std::vector<int> result;
        for (std::size_t i = 0; i < cores_.size(); ++i) {
            if (cores_[i].block == block && cores_[i].cube == cube) {
                result.push_back(static_cast<int>(i));
            }
        }
        return result;
    }
    std::vector<int> AllOf(bool cube) const {
        std::vector<int> result;
        for (std::size_t i = 0; i < cores_.size(); ++i) {
            if (cores_[i].cube == cube) {
                result.push_back(static_cast<int>(i));
            }
        }
        return result;
    }

    Timeline Finish() {
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

    ReplayFigures figures_;
    MemorySystem memory_;
    std::vector<CoreState> cores_;
    std::priority_queue<Appointment> agenda_;
    std::uint64_t appointments_ = 0;
};

}  // namespace

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
