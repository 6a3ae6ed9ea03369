// SPDX-License-Identifier: Apache-2.0
// The scalar unit of each core issues its steps in order; flags of its own core and of others let it and the pipes go
// on.
#include <algorithm>

#include "timing/replayer.h"

namespace ascend_attention::sim {

[[gnu::always_inline]] inline bool Replayer::Enqueue(int index, CoreState& state, int pipe) {
    PipeState& queue = state.pipes[pipe];
    if (queue.entries.size() >= figures_.queue_depth) {
        state.hold = Hold::kQueue;
        state.held_by = pipe;
        return false;
    }
    const Step& step = state.steps[state.next];
    const bool instruction = step.kind == StepKind::kInstruction;
    const bool sets_mask = instruction && step.pipe == Pipe::kVector && step.id != 0;
    state.Spend(instruction ? figures_.issue + (sets_mask ? figures_.mask : 0) : figures_.sync_issue);
    QueueEntry& entry = queue.entries.Append();
    entry.step = state.next;
    entry.cause = state.scalar_cause;
    entry.issued = state.scalar_time;
    entry.by = state.scalar_by;
    if (queue.entries.size() == 1 && !queue.parked) {
        Schedule(index, pipe, std::max(state.scalar_time, queue.free_at));
    }
    return true;
}

[[gnu::always_inline]] inline bool Replayer::IssueOne(int index, CoreState& state, const Step& step) {
    if (step.kind == StepKind::kInstruction) {  // nearly all of them: no jump through a table
        if (step.pipe != Pipe::kScalar) {
            return Enqueue(index, state, static_cast<int>(step.pipe));
        }
        const double start = state.scalar_time;
        state.Spend(state.CostOf(step).Occupancy(step.units, 0));
        Note(state, start, state.scalar_cause, state.scalar_by);
        return true;
    }
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
                state.Spend(figures_.sync_issue);
                Publish(index, step, state.scalar_time, state.scalar_by, state.scalar_time);
                return true;
            }
            break;
        case StepKind::kInstruction:
        case StepKind::kCrossSet:
            break;
    }
    return Enqueue(index, state, static_cast<int>(step.pipe));
}

void Replayer::Issue(int index, double now) {
    CoreState& state = core(index);
    if (state.hold == Hold::kQueue) {
        state.Delay(now, Cause::kQueue, state.pipes[state.held_by].last);
    }
    state.hold = Hold::kNone;
    while (state.next < state.step_count) {
        const Step& step = state.steps[state.next];
        __builtin_prefetch(&step + kAhead);
        if (!IssueOne(index, state, step)) {
            return;
        }
        ++state.next;
    }
    state.hold = Hold::kEnd;
}

bool Replayer::PassCrossWait(CoreState& state, const Step& step) {
    if (state.raises[step.id].empty()) {
        state.hold = Hold::kCrossFlag;
        state.held_by = step.id;
        return false;
    }
    Hear(state, state.raises[step.id].Pop(), Cause::kCrossFlag);
    return true;
}

bool Replayer::PassScalarWait(CoreState& state, const Step& step) {
    if (state.events[EventKey(step)].empty()) {
        state.hold = Hold::kEvent;
        state.held_by = EventKey(step);
        return false;
    }
    Hear(state, state.events[EventKey(step)].Pop(), Cause::kFlag);
    return true;
}

void Replayer::Hear(CoreState& state, const Told& told, Cause cause) {
    const double start = state.scalar_time;
    state.Spend(figures_.sync_issue);
    state.Delay(told.time, told.WhyOf(cause), told.by);
    Note(state, start, cause, told.by);
}

void Replayer::Note(CoreState& state, double start, Cause cause, StepRef by) {
    if (state.timed == nullptr) {
        return;
    }
    TimedStep& timed = state.timed[state.next];
    timed.start = start;
    timed.occupancy = static_cast<float>(state.scalar_time - start);
    timed.cause = cause;
    timed.by = by;
}

bool Replayer::Drain(CoreState& state) {
    for (const PipeState& pipe : state.pipes) {
        if (!pipe.entries.empty()) {
            state.hold = Hold::kDrain;
            return false;
        }
    }
    const double start = state.scalar_time;
    state.Spend(figures_.sync_issue);
    for (const PipeState& pipe : state.pipes) {
        state.Delay(pipe.free_at, pipe.cause, pipe.by);
        state.Delay(pipe.complete_at, Cause::kFlag, pipe.last_complete);
    }
    Note(state, start, state.scalar_cause, state.scalar_by);
    return true;
}

void Replayer::Publish(int index, const Step& step, double time, StepRef by, double now) {
    CoreState& state = core(index);
    const int key = EventKey(step);
    state.events[key].Push(Told{time, by});
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

void Replayer::CrossSet(int index, const Step& step, double time, StepRef by, double now) {
    const int flag = step.id;
    const int mode = step.target;
    CoreState& setter = core(index);
    if (mode == 2 && setter.cube) {
        for (const int vector : setter.block_vectors) {
            Raise(vector, flag, Told{time, by}, now);
        }
        return;
    }
    setter.given[flag].Push(Told{time, by});
    const std::vector<int>& participants = mode == 0 ? setter.same_type : setter.block_vectors;
    for (const int participant : participants) {
        if (core(participant).given[flag].empty()) {
            return;
        }
    }
    Told last{0, {}};
    for (const int participant : participants) {
        const Told told = core(participant).given[flag].Pop();
        if (told.time >= last.time) {
            last = told;
        }
    }
    for (const int target : mode == 2 ? setter.block_cube : participants) {
        Raise(target, flag, last, now);
    }
}

void Replayer::Raise(int index, int flag, const Told& told, double now) {
    CoreState& state = core(index);
    state.raises[flag].Push(told);
    if (state.hold == Hold::kCrossFlag && state.held_by == flag) {
        Issue(index, now);
    }
}

}  // namespace ascend_attention::sim
