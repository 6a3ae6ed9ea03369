// SPDX-License-Identifier: Apache-2.0
// One replay. replay_issue.cpp has the scalar units and the flags, replay.cpp the pipes.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/agenda.h"
#include "timing/replay_state.h"

namespace ascend_attention::sim {

class Replayer {
public:
    Replayer(const std::vector<ReplayCore>& cores, const ReplaySettings& settings);

    // Goes on for about so many appointments: the same thread or another one can take it up again. True at the end.
    bool Run(std::uint64_t appointments);
    Timeline Finish();

private:
    CoreState& core(int index) { return cores_[static_cast<std::size_t>(index)]; }

    void Schedule(int index, int pipe, double time) {
        PipeState& state = core(index).pipes[pipe];
        if (!state.scheduled) {
            state.scheduled = true;
            agenda_.Add(Appointment{time, index, pipe});
        }
    }

    // The scalar unit goes on from `now` until something holds it up.
    void Issue(int index, double now);

    // False when the scalar unit cannot go past the step yet.
    bool IssueOne(int index, CoreState& state, const Step& step);
    bool Enqueue(int index, CoreState& state, int pipe);
    bool PassCrossWait(CoreState& state, const Step& step);
    bool PassScalarWait(CoreState& state, const Step& step);

    // The scalar unit goes on once it has been told.
    void Hear(CoreState& state, const Told& told, Cause cause);

    // What the scalar unit did itself, or waited for, since `start`.
    static void Note(CoreState& state, double start, Cause cause, StepRef by);

    // PipeBarrier<PIPE_ALL>: every queue empty and every result there.
    bool Drain(CoreState& state);

    // The pipe goes on at `now` until it has to wait.
    void Work(int index, int pipe, double now);

    // The pipe will come back to the entry.
    void Foresee(const CoreState& state, PipeState& queue, const QueueEntry& entry) const;

    // False when the pipe has to wait: it is scheduled, or parked until somebody wakes it.
    bool WorkOne(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry, double now);

    // Whom a set that is told at `now` had to wait for: the last result of its pipe, else what kept the pipe or the
    // scalar unit from coming to it.
    static StepRef Teller(const PipeState& queue, const QueueEntry& entry, double now);
    static PipeState& OtherOfUnits(CoreState& state, const Step& step);

    // Whether an Mmad or a Fixpipe with a unitFlag may start: the other pipe has begun to hand over what it takes. The
    // two then work side by side. `*units` says when the last unit comes.
    bool TakeUnits(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry, double now,
                   const HandOver** units);
    // It starts at `now`. `units`: when the other pipe may take them, as far as it does not learn of it late.
    void HandOverUnits(int index, CoreState& state, PipeState& queue, const Step& step, const HandOver& units,
                       double now);
    MemorySystem::Answer MoveGlobal(const CoreState& state, const Step& step, double now);

    // The instruction starts. `units`: what it takes of the other pipe by unitFlag.
    void Execute(int index, CoreState& state, PipeState& queue, const Step& step, const QueueEntry& entry, double now,
                 const HandOver* units);
    static void Started(CoreState& state, PipeState& queue, StepRef self, const TimedStep& timed);

    // SetFlag has taken effect at `time`; known since `now`.
    void Publish(int index, const Step& step, double time, StepRef by, double now);
    void CrossSet(int index, const Step& step, double time, StepRef by, double now);
    void Raise(int index, int flag, const Told& told, double now);

    static constexpr int kAhead = 4;  // steps to fetch before they are needed; other cores come between

    ReplayFigures figures_;
    MemorySystem memory_;
    std::vector<CoreState> cores_;
    Agenda agenda_;
    bool started_ = false;
};

}  // namespace ascend_attention::sim
