// SPDX-License-Identifier: Apache-2.0
#include "timing/trace_walk.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/findings.h"

namespace ascend_attention::sim {

namespace {

// Shorter gaps than these are the cost of issuing, not a wait that somebody could do something about.
constexpr std::int64_t kShortestWait = 2;
// Durations are kept as float: an end may come out later than the next beginning, by less than this share of it.
constexpr double kRounding = 1.2e-7;

class Walker {
public:
    Walker(const RunRecord& record, const TraceWindow& window, TraceVisitor& visitor)
        : record_(record), window_(window), visitor_(visitor), nanoseconds_(record.Nanoseconds(1)) {}

    void Core(std::size_t core) {
        core_ = core;
        free_from_.fill(0);
        for (std::vector<Told>& told : told_) {
            told.clear();
        }
        const std::vector<Step>& steps = record_.streams[core].steps;
        for (std::uint32_t i = 0; i < steps.size(); ++i) {
            Visit(steps[i], record_.timeline.cores[core].steps[i], i);
        }
    }

private:
    struct Told {
        StepRef by;
        bool cross_core;
    };

    std::int64_t BeginOf(const TimedStep& timed) const {
        return static_cast<std::int64_t>(std::floor(timed.start * nanoseconds_));
    }
    std::int64_t EndOf(const TimedStep& timed) const {
        return static_cast<std::int64_t>(
            std::floor((timed.start + static_cast<double>(timed.occupancy) * (1 - kRounding)) * nanoseconds_));
    }

    void Visit(const Step& step, const TimedStep& timed, std::uint32_t index) {
        switch (step.kind) {
            case StepKind::kInstruction:
                Instruction(step.pipe, timed, index);
                break;
            case StepKind::kWait:
                Tell(static_cast<Pipe>(step.target), timed.by, false);
                if (static_cast<Pipe>(step.target) == Pipe::kScalar) {
                    ScalarWait(timed, index);
                }
                break;
            case StepKind::kCrossWait:
                Tell(Pipe::kScalar, timed.by, true);
                ScalarWait(timed, index);
                break;
            case StepKind::kBarrier:
                if (step.pipe == Pipe::kAll) {
                    ScalarWait(timed, index);
                }
                break;
            case StepKind::kSet:
            case StepKind::kCrossSet:
                break;
        }
    }

    void Instruction(Pipe pipe, const TimedStep& timed, std::uint32_t index) {
        const std::int64_t begin = BeginOf(timed);
        std::int64_t& free_from = free_from_[static_cast<std::size_t>(pipe)];
        const bool waited = timed.cause != Cause::kStart && timed.cause != Cause::kPipe && pipe != Pipe::kScalar;
        if (waited && begin - free_from >= kShortestWait) {
            Emit(TraceBar{core_, pipe, true, free_from, begin, index});
        }
        free_from = std::max(begin, EndOf(timed));
        Emit(TraceBar{core_, pipe, false, begin, free_from, index});
        // What the scalar unit waited for holds up whatever it issues next.
        for (const Pipe listener : {pipe, Pipe::kScalar}) {
            std::vector<Told>& told = told_[static_cast<std::size_t>(listener)];
            for (const Told& flag : told) {
                EmitArrow(flag, StepRef{static_cast<std::int32_t>(core_), index}, begin, free_from);
            }
            told.clear();
        }
    }

    void ScalarWait(const TimedStep& timed, std::uint32_t index) {
        const std::int64_t begin = BeginOf(timed);
        const std::int64_t end = EndOf(timed);
        if (end - begin >= kShortestWait) {
            Emit(TraceBar{core_, Pipe::kScalar, true, begin, end, index});
        }
    }

    void Tell(Pipe listener, StepRef by, bool cross_core) {
        if (by.core >= 0) {
            told_[static_cast<std::size_t>(listener)].push_back(Told{by, cross_core});
        }
    }

    void Emit(const TraceBar& bar) {
        if (window_.Has(bar.begin, bar.end)) {
            visitor_.Bar(bar);
        }
    }

    void EmitArrow(const Told& flag, StepRef to, std::int64_t to_begin, std::int64_t to_end) {
        const auto from_core = static_cast<std::size_t>(flag.by.core);
        const TimedStep& from = record_.timeline.cores[from_core].steps[flag.by.step];
        const std::int64_t begin = BeginOf(from);
        const std::int64_t end = EndOf(from);
        // Nothing can be tied to a bar that has no width.
        if (begin == end || to_begin == to_end || !window_.Has(from_core) || !window_.Has(begin, end) ||
            !window_.Has(to_begin, to_end) || end > to_begin) {
            return;
        }
        visitor_.Arrow(TraceArrow{flag.by, to, end - 1, to_begin, flag.cross_core});
    }

    const RunRecord& record_;
    const TraceWindow& window_;
    TraceVisitor& visitor_;
    double nanoseconds_;  // a cycle
    std::size_t core_ = 0;
    std::array<std::int64_t, kPipeCount> free_from_{};
    std::array<std::vector<Told>, kPipeCount> told_;  // flags since the last instruction that had to heed them
};

}  // namespace

void WalkTrace(const RunRecord& record, const TraceWindow& window, TraceVisitor& visitor) {
    Walker walker(record, window, visitor);
    for (std::size_t core = 0; core < record.cores.size(); ++core) {
        if (window.Has(core)) {
            walker.Core(core);
        }
    }
}

std::string DescribeStep(const RunRecord& record, StepRef ref) {
    const auto core = static_cast<std::size_t>(ref.core);
    const EventStream& stream = record.streams[core];
    const Step& step = stream.steps[ref.step];
    return record.cores[core].name + " " + NameOf(step.pipe) + " " +
           Describe(stream.instructions[step.instruction].name, stream.sites[step.site]);
}

const char* DescribeWait(const RunRecord& record, const TraceBar& bar) {
    const Step& step = record.streams[bar.core].steps[bar.step];
    const TimedStep& timed = record.timeline.cores[bar.core].steps[bar.step];
    switch (step.kind) {
        case StepKind::kCrossWait:
            return "other core";
        case StepKind::kBarrier:
            return "all pipes";
        case StepKind::kWait:
            return "flag";
        default:
            break;
    }
    switch (timed.cause) {
        case Cause::kStart:
            return "start";
        case Cause::kPipe:
            return "pipe";
        case Cause::kCrossFlag:
            return "other core";
        case Cause::kIssue:
            return "scalar unit";
        case Cause::kQueue:
            return "full queue";
        case Cause::kUnits:
            return "unit flag";
        case Cause::kFlag:
            break;
    }
    const bool own_pipe = timed.by.core >= 0 && timed.by.core == static_cast<std::int32_t>(bar.core) &&
                          record.streams[bar.core].steps[timed.by.step].pipe == bar.pipe;
    return own_pipe ? "barrier" : "flag";
}

}  // namespace ascend_attention::sim
