// SPDX-License-Identifier: Apache-2.0
// Says what is wrong with a timeline, from the streams alone: no instruction starts before what it waits for, pipes
// work in order and on one thing at a time, nothing is lost. Written apart from the replay and by other means: it looks
// at whole prefixes of programs where the replay keeps a state.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "timing/critical_path.h"
#include "timing/replay.h"

namespace ascend_attention::sim::checks {

constexpr double kRounding = 1e-2;  // times within a step are floats

class TimelineChecks {
public:
    TimelineChecks(const std::vector<ReplayCore>& cores, const ReplaySettings& settings, const Timeline& timeline)
        : cores_(cores),
          settings_(settings),
          timeline_(timeline),
          costs_(*settings.costs),
          flag_(Figure("flag latency")),
          cross_core_(Figure("cross-core latency")),
          unit_flag_(Figure("unit flag latency")) {}

    std::vector<std::string> Run() {
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            CheckCore(core);
        }
        CheckCrossFlags();
        CheckTotals();
        CheckCauses();
        return problems_;
    }

private:
    using Ready = std::array<double, kPipeCount>;

    double Figure(const char* name) const { return settings_.costs->Figure(name, settings_.assumption); }
    const std::vector<Step>& Steps(std::size_t core) const { return cores_[core].stream->steps; }
    const TimedStep& At(std::size_t core, std::size_t step) const { return timeline_.cores[core].steps[step]; }

    void Expect(bool ok, std::size_t core, std::size_t step, const char* what) {
        if (!ok) {
            problems_.push_back("core " + std::to_string(core) + " step " + std::to_string(step) + ": " + what);
        }
    }

    static bool IsWork(const Step& step) { return step.kind == StepKind::kInstruction && step.pipe != Pipe::kScalar; }

    // Flags, barriers and the order of pipes, within one core.
    void CheckCore(std::size_t core) {
        Ready complete{};  // of each pipe, all results so far
        Ready free{};
        Ready earliest{};  // what the pipe's next instruction must not start before
        std::map<int, std::vector<double>> told;
        std::map<int, std::size_t> heard;
        std::array<double, kPipeCount> busy{};
        for (std::size_t i = 0; i < Steps(core).size(); ++i) {
            const Step& step = Steps(core)[i];
            const auto pipe = static_cast<std::size_t>(step.pipe);
            const int key = (static_cast<int>(step.pipe) * kPipeCount + step.target) * 8 + step.id;
            if (step.kind == StepKind::kSet) {
                told[key].push_back(step.pipe == Pipe::kScalar ? earliest[0]
                                                               : std::max(complete[pipe], earliest[pipe]) + flag_);
            } else if (step.kind == StepKind::kWait) {
                const double time = told[key][heard[key]++];
                const bool scalar = static_cast<Pipe>(step.target) == Pipe::kScalar;
                for (std::size_t p = 0; p < earliest.size(); ++p) {
                    if (scalar || p == step.target) {
                        earliest[p] = std::max(earliest[p], time);
                    }
                }
            } else if (step.kind == StepKind::kBarrier && step.pipe == Pipe::kAll) {
                const double all = *std::max_element(complete.begin(), complete.end());
                for (double& time : earliest) {
                    time = std::max(time, all);
                }
            } else if (step.kind == StepKind::kBarrier) {
                earliest[pipe] = std::max(earliest[pipe], complete[pipe]);
            } else if (IsWork(step)) {
                const TimedStep& timed = At(core, i);
                CheckInstruction(core, i, step, timed, free[pipe], earliest[pipe]);
                free[pipe] = timed.end();
                complete[pipe] = std::max(complete[pipe], timed.completion());
                busy[pipe] += timed.occupancy;
            }
        }
        for (std::size_t p = 1; p < busy.size(); ++p) {
            Expect(std::abs(busy[p] - timeline_.cores[core].busy[p]) < kRounding * (1 + busy[p] / 1000), core, 0,
                   "busy of a pipe is not the sum of its instructions");
        }
        CheckUnits(core);
    }

    void CheckInstruction(std::size_t core, std::size_t i, const Step& step, const TimedStep& timed, double free,
                          double earliest) {
        const Cost& cost = costs_.Find(cores_[core].stream->instructions[step.instruction]);
        const double own = cost.Occupancy(step.units, step.rows);
        Expect(timed.start >= free - kRounding, core, i, "starts while its pipe works on another");
        Expect(timed.start >= earliest - kRounding, core, i, "starts before a flag or barrier lets it");
        Expect(std::abs(timed.own - own) < kRounding * (1 + own / 1000), core, i, "does not cost what its row says");
        Expect(timed.occupancy >= timed.own - kRounding, core, i, "keeps its pipe for less than it costs");
        Expect(timed.tail >= cost.tail - kRounding, core, i, "has its result too early");
        Expect(timed.completion() <= timeline_.cycles + kRounding, core, i, "ends after the launch");
    }

    void CheckUnits(std::size_t core) {
        for (const UnitWait& wait : cores_[core].stream->unit_waits) {
            const TimedStep& by = At(core, wait.by);
            const TimedStep& timed = At(core, wait.step);
            const double result = Steps(core)[wait.by].pipe == Pipe::kCube ? by.tail : 0;
            Expect(timed.start >= by.start + result + unit_flag_ - kRounding, core, wait.step,
                   "starts before the first unit of L0C is handed over");
            Expect(timed.end() >= by.end() + result + unit_flag_ - kRounding, core, wait.step,
                   "ends before the last unit of L0C is handed over");
        }
    }

    // The n-th wait of a core hears the n-th time that all participants have set the flag.
    void CheckCrossFlags() {
        std::map<std::pair<std::size_t, int>, std::vector<double>> sets;  // by core and flag: when, at the earliest
        std::map<std::pair<std::size_t, int>, int> modes;
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            Ready complete{};
            for (std::size_t i = 0; i < Steps(core).size(); ++i) {
                const Step& step = Steps(core)[i];
                const auto pipe = static_cast<std::size_t>(step.pipe);
                if (IsWork(step)) {
                    complete[pipe] = std::max(complete[pipe], At(core, i).completion());
                } else if (step.kind == StepKind::kCrossSet) {
                    sets[{core, step.id}].push_back(complete[pipe] + cross_core_);
                    modes[{core, step.id}] = step.target;
                }
            }
        }
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            std::map<int, std::size_t> heard;
            double earliest = 0;
            for (std::size_t i = 0; i < Steps(core).size(); ++i) {
                const Step& step = Steps(core)[i];
                if (step.kind == StepKind::kCrossWait) {
                    const std::size_t n = heard[step.id]++;
                    for (const auto& [setter, times] : sets) {
                        if (setter.second == step.id && Reaches(setter.first, core, modes[setter]) &&
                            n < times.size()) {
                            earliest = std::max(earliest, times[n]);
                        }
                    }
                } else if (IsWork(step)) {
                    Expect(At(core, i).start >= earliest - kRounding, core, i, "starts before another core lets it");
                }
            }
        }
    }

    bool Reaches(std::size_t setter, std::size_t core, int mode) const {
        if (mode == 0) {
            return cores_[setter].cube == cores_[core].cube;
        }
        return cores_[setter].block == cores_[core].block &&
               (mode == 2 ? cores_[setter].cube != cores_[core].cube : !cores_[setter].cube && !cores_[core].cube);
    }

    void CheckTotals() {
        double last = 0;
        double first = timeline_.cycles;
        double read = 0;
        double written = 0;
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            last = std::max(last, timeline_.cores[core].finish);
            for (std::size_t i = 0; i < Steps(core).size(); ++i) {
                if (IsWork(Steps(core)[i])) {
                    first = std::min(first, At(core, i).start);
                }
            }
            for (const Transfer& transfer : cores_[core].stream->transfers) {
                (transfer.write ? written : read) += transfer.bypasses_l2 ? 0 : static_cast<double>(transfer.bytes());
            }
        }
        Expect(std::abs(last - timeline_.cycles) < kRounding, 0, 0, "the launch does not end with its last core");
        Expect(read == static_cast<double>(timeline_.traffic.l2_read), 0, 0, "bytes read were lost");
        Expect(written == static_cast<double>(timeline_.traffic.l2_written), 0, 0, "bytes written were lost");
        const MemoryFigures memory = ReadMemoryFigures(settings_);
        const double hbm = static_cast<double>(timeline_.traffic.hbm_read + timeline_.traffic.hbm_written);
        const double slack = timeline_.cycles - first + kRounding;
        Expect(read / memory.l2_read <= slack, 0, 0, "L2 is read faster than it can");
        Expect(written / memory.l2_write <= slack, 0, 0, "L2 is written faster than it can");
        Expect(hbm / memory.hbm <= slack, 0, 0, "HBM is faster than it can");
        const CriticalPath path = FindCriticalPath(cores_, timeline_);
        Expect(std::abs(path.cycles - timeline_.cycles) < kRounding, 0, 0, "the critical path has another length");
    }

    // Whoever is said to have delayed an instruction has started before it, and what it was waited for fits.
    void CheckCauses() {
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            for (std::size_t i = 0; i < Steps(core).size(); ++i) {
                if (!IsWork(Steps(core)[i])) {
                    continue;
                }
                const TimedStep& timed = At(core, i);
                if (timed.by.core < 0) {
                    Expect(timed.cause == Cause::kStart || timed.cause == Cause::kIssue, core, i,
                           "waits for something that nobody did");
                    continue;
                }
                const TimedStep& by = At(static_cast<std::size_t>(timed.by.core), timed.by.step);
                Expect(by.start <= timed.start + kRounding, core, i, "is delayed by what starts later");
                if (timed.cause == Cause::kPipe) {
                    Expect(std::abs(by.end() - timed.start) < kRounding, core, i, "does not follow on its pipe");
                }
            }
        }
    }

    const std::vector<ReplayCore>& cores_;
    const ReplaySettings& settings_;
    const Timeline& timeline_;
    CostLookup costs_;
    double flag_;
    double cross_core_;
    double unit_flag_;
    std::vector<std::string> problems_;
};

inline std::vector<std::string> ProblemsOf(const std::vector<ReplayCore>& cores, const ReplaySettings& settings,
                                           const Timeline& timeline) {
    return TimelineChecks(cores, settings, timeline).Run();
}

}  // namespace ascend_attention::sim::checks
