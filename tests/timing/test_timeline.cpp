// SPDX-License-Identifier: Apache-2.0
// Random programs through the replay, each timeline held to what any timeline must keep; and timelines and replays with
// one thing wrong, which the same checks must catch.
#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cpp/check.h"
#include "timing/program.h"
#include "timing/replay.h"
#include "timing/timeline_checks.h"

namespace {

using namespace ascend_attention::sim;
using checks::ProblemsOf;
using checks::Program;

const char* const kCosts =
    "instruction,dtype,per_unit,per_unit_documented,fixed,minimum,tail,per_row,unit\n"
    "pipe S,*,0,,4,0,0,0,instruction\n"
    "pipe V,*,1,,0,3,20,0,repeat\n"
    "pipe M,*,1,,8,0,15,0,fractal product\n"
    "pipe MTE1,*,0.5,,3,0,20,0,byte\n"
    "pipe MTE2,*,0.01,,20,0,150,0,byte\n"
    "pipe MTE3,*,0.02,,15,0,110,0,byte\n"
    "pipe FIX,*,0.01,,0,83,80,0,byte\n";

struct Figures {
    double flag = 6;
    double cross_core = 200;
    double unit_flag = 8;
    double bandwidth = 20;

    std::string Text() const {
        std::string text = "figure,low,middle,high,documented\n";
        const auto add = [&](const std::string& name, double value) {
            const std::string number = std::to_string(value);
            text += name + "," + number + "," + number + "," + number + ",\n";
        };
        add("scalar issue", 4);
        add("sync issue", 1);
        add("mask setting", 4);
        add("flag latency", flag);
        add("cross-core latency", cross_core);
        add("unit flag latency", unit_flag);
        add("L2 miss latency", 260);
        add("queue depth", 8);
        add("L2 read bandwidth", bandwidth);
        add("L2 write bandwidth", bandwidth);
        add("HBM bandwidth", bandwidth / 2);
        return text;
    }
};

// Blocks of one cube and two vector cores that hand work to each other as attention does, with random work in between.
class RandomLaunch {
public:
    RandomLaunch(unsigned seed, int blocks, int rounds) : random_(seed) {
        programs_.resize(static_cast<std::size_t>(blocks) * 3);
        for (int round = 0; round < rounds; ++round) {
            const bool all = Below(4) == 0;
            for (int block = 0; block < blocks; ++block) {
                Cube(programs_[block * 3], all);
                Vector(programs_[block * 3 + 1]);
                Vector(programs_[block * 3 + 2]);
            }
        }
        for (int i = 0; i < blocks * 3; ++i) {
            cores_.push_back(ReplayCore{&programs_[i].stream, static_cast<std::uint32_t>(i / 3), i % 3 == 0});
        }
    }

    const std::vector<ReplayCore>& cores() const { return cores_; }

private:
    int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

    void Move(Program& program, Pipe pipe, bool write) {
        const int address = Below(64) * 4096 + Below(2) * 32;
        program.Move(pipe, static_cast<std::uint64_t>(address), static_cast<std::uint32_t>(32 + Below(8192)), write);
        program.stream.steps.back().units = program.stream.transfers.back().row_bytes;
    }

    // Products into one accumulator and out again, the two pipes side by side when unitFlag is used.
    void Product(Program& program) {
        const bool units = Below(2) == 0;
        const int count = 1 + Below(3);
        for (int i = 0; i < count; ++i) {
            program.Do(Pipe::kMte1, static_cast<std::uint32_t>(1 + Below(100))).Flag(Pipe::kMte1, Pipe::kCube);
            program.Do(Pipe::kCube, static_cast<std::uint32_t>(1 + Below(600)));
            if (units) {
                program.Units(i + 1 == count ? 3 : 2, taken_by_[&program] - 1);
            }
        }
        const int product = program.Last();
        if (!units) {
            program.Flag(Pipe::kCube, Pipe::kFixpipe);
        }
        Move(program, Pipe::kFixpipe, true);
        if (units) {
            program.Units(3, product);
            taken_by_[&program] = program.Last() + 1;
        } else {
            program.Flag(Pipe::kFixpipe, Pipe::kCube);
        }
    }

    void Cube(Program& program, bool all) {
        for (int i = Below(4); i > 0; --i) {
            Move(program, Pipe::kMte2, false);
        }
        program.Flag(Pipe::kMte2, Pipe::kMte1);
        for (int i = 1 + Below(2); i > 0; --i) {
            Product(program);
        }
        if (Below(8) == 0) {
            program.Sync(StepKind::kBarrier, Pipe::kAll);
        }
        program.Sync(StepKind::kCrossSet, Pipe::kFixpipe, 2, 1);
        if (all) {
            program.Sync(StepKind::kCrossSet, Pipe::kMte2, 0, 5).Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 5);
        }
        program.Do(Pipe::kScalar, 1);
        program.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 2);
    }

    void Vector(Program& program) {
        program.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 1);
        Move(program, Pipe::kMte2, false);
        program.Flag(Pipe::kMte2, Pipe::kVector);
        for (int i = 1 + Below(20); i > 0; --i) {
            program.Do(Pipe::kVector, static_cast<std::uint32_t>(1 + Below(64)));
            if (Below(3) == 0) {
                program.SetsMask();
            }
            if (Below(3) == 0) {
                program.Sync(StepKind::kBarrier, Pipe::kVector);
            }
        }
        if (Below(4) == 0) {
            program.Flag(Pipe::kVector, Pipe::kScalar).Do(Pipe::kScalar, 1).Flag(Pipe::kScalar, Pipe::kMte3);
        }
        program.Flag(Pipe::kVector, Pipe::kMte3);
        Move(program, Pipe::kMte3, true);
        program.Flag(Pipe::kMte3, Pipe::kVector);
        program.Sync(StepKind::kCrossSet, Pipe::kMte3, 2, 2);
    }

    std::mt19937 random_;
    std::vector<Program> programs_;
    std::vector<ReplayCore> cores_;
    std::map<const Program*, int> taken_by_;  // the last Fixpipe with unitFlag, + 1
};

ReplaySettings SettingsOf(const CostTable& table) {
    ReplaySettings settings;
    settings.costs = &table;
    settings.clock_hz = 1;
    settings.l2_bytes = 1 << 18;
    return settings;
}

std::string First(const std::vector<std::string>& problems) { return problems.empty() ? "" : problems.front(); }

void RandomProgramsKeepEveryRule() {
    const CostTable table(kCosts, Figures().Text(), CostSource::kMeasured);
    for (unsigned seed = 0; seed < 40; ++seed) {
        const RandomLaunch launch(seed, 1 + static_cast<int>(seed % 4), 12);
        const ReplaySettings settings = SettingsOf(table);
        const Timeline timeline = Replay(launch.cores(), settings);
        CHECK_EQ_CONTEXT(First(ProblemsOf(launch.cores(), settings, timeline)), std::string(),
                         "seed " + std::to_string(seed));
        CHECK(timeline.cycles > 0);
    }
}

void ReplaysAreAlike() {
    const CostTable table(kCosts, Figures().Text(), CostSource::kMeasured);
    const RandomLaunch launch(7, 4, 12);
    ReplaySettings settings = SettingsOf(table);
    const Timeline first = Replay(launch.cores(), settings);
    const Timeline second = Replay(launch.cores(), settings);
    settings.keep_steps = false;
    const Timeline brief = Replay(launch.cores(), settings);
    CHECK_EQ(first.cycles, second.cycles);
    CHECK_EQ(first.cycles, brief.cycles);
    CHECK_EQ(brief.traffic.hbm_read, first.traffic.hbm_read);
    for (std::size_t core = 0; core < first.cores.size(); ++core) {
        CHECK(brief.cores[core].steps.empty());
        CHECK(brief.cores[core].busy == first.cores[core].busy);
        for (std::size_t i = 0; i < first.cores[core].steps.size(); ++i) {
            CHECK_EQ(first.cores[core].steps[i].start, second.cores[core].steps[i].start);
        }
    }
}

// Each is a way to break a timeline that has been found right.
void BrokenTimelinesAreCaught() {
    const CostTable table(kCosts, Figures().Text(), CostSource::kMeasured);
    const RandomLaunch launch(3, 2, 12);
    const ReplaySettings settings = SettingsOf(table);
    const Timeline right = Replay(launch.cores(), settings);
    CHECK(ProblemsOf(launch.cores(), settings, right).empty());
    const auto caught = [&](const std::function<void(Timeline&)>& breaks) {
        Timeline wrong = right;
        breaks(wrong);
        return !ProblemsOf(launch.cores(), settings, wrong).empty();
    };
    std::array<int, 8> tried{};
    for (std::size_t core = 0; core < right.cores.size(); ++core) {
        for (std::size_t i = 0; i < right.cores[core].steps.size(); ++i) {
            const Step& step = launch.cores()[core].stream->steps[i];
            const TimedStep& timed = right.cores[core].steps[i];
            if (step.kind != StepKind::kInstruction || step.pipe == Pipe::kScalar || timed.by.core < 0) {
                continue;
            }
            const auto at = [&](Timeline& wrong) -> TimedStep& { return wrong.cores[core].steps[i]; };
            const std::string context = "core " + std::to_string(core) + " step " + std::to_string(i);
            // The scalar unit's own pace is not checked: not when it came late to the instruction or to a set.
            const double known = right.cores[static_cast<std::size_t>(timed.by.core)].steps[timed.by.step].completion();
            const bool set_late = (timed.cause == Cause::kFlag && timed.start > known + Figures().flag + 0.1) ||
                                  (timed.cause == Cause::kCrossFlag && timed.start > known + Figures().cross_core + 9);
            const bool issued = timed.cause == Cause::kIssue || timed.cause == Cause::kQueue || set_late;
            if (!issued && !timed.ends_with) {
                ++tried[static_cast<std::size_t>(timed.cause)];
                const double early = timed.cause == Cause::kCrossFlag ? 10 : 1;
                CHECK_CONTEXT(caught([&](Timeline& wrong) { at(wrong).start -= early; }),
                              context + " starts early, cause " + std::to_string(static_cast<int>(timed.cause)));
            }
            CHECK_CONTEXT(caught([&](Timeline& wrong) { at(wrong).occupancy -= 1; }), context + " is too short");
            CHECK_CONTEXT(caught([&](Timeline& wrong) { at(wrong).own += 1; }), context + " costs too much");
            CHECK_CONTEXT(caught([&](Timeline& wrong) { at(wrong).tail = 0; }), context + " is known too early");
            CHECK_CONTEXT(caught([&](Timeline& wrong) { at(wrong).start = wrong.cycles; }), context + " comes late");
        }
    }
    for (const Cause cause : {Cause::kPipe, Cause::kFlag, Cause::kCrossFlag, Cause::kUnits}) {
        CHECK(tried[static_cast<std::size_t>(cause)] > 0);
    }
    CHECK(caught([](Timeline& wrong) { wrong.cycles += 10; }));
    CHECK(caught([](Timeline& wrong) { wrong.cores[1].busy[1] += 5; }));
    CHECK(caught([](Timeline& wrong) { wrong.traffic.l2_read -= 32; }));
    CHECK(caught([](Timeline& wrong) { wrong.traffic.hbm_read = std::uint64_t{1} << 40; }));
}

// A replay that goes by other figures than it should.
void WrongReplaysAreCaught() {
    const CostTable table(kCosts, Figures().Text(), CostSource::kMeasured);
    const RandomLaunch launch(5, 2, 12);
    const ReplaySettings settings = SettingsOf(table);
    const auto caught = [&](const std::function<void(Figures&, std::string&)>& breaks) {
        Figures figures;
        std::string costs = kCosts;
        breaks(figures, costs);
        const CostTable wrong(costs, figures.Text(), CostSource::kMeasured);
        ReplaySettings other = SettingsOf(wrong);
        return !ProblemsOf(launch.cores(), settings, Replay(launch.cores(), other)).empty();
    };
    CHECK(!caught([](Figures&, std::string&) {}));
    CHECK(caught([](Figures& figures, std::string&) { figures.flag = 5; }));
    CHECK(caught([](Figures& figures, std::string&) { figures.cross_core = 150; }));
    CHECK(caught([](Figures& figures, std::string&) { figures.unit_flag = 7; }));
    CHECK(caught([](Figures&, std::string& costs) { costs.replace(costs.find("pipe M,*,1"), 10, "pipe M,*,2"); }));

    // Loads alone: memory that is faster than it can be shows in the sum of the bytes.
    Program loads;
    for (std::uint64_t i = 0; i < 64; ++i) {
        loads.Move(Pipe::kMte2, i * 8192, 8192, false);
    }
    const std::vector<ReplayCore> core = {ReplayCore{&loads.stream, 0, false}};
    Figures figures;
    CHECK(ProblemsOf(core, settings, Replay(core, settings)).empty());
    figures.bandwidth = 1e9;
    const CostTable fast(kCosts, figures.Text(), CostSource::kMeasured);
    CHECK(!ProblemsOf(core, settings, Replay(core, SettingsOf(fast))).empty());
}

}  // namespace

int main() {
    RandomProgramsKeepEveryRule();
    ReplaysAreAlike();
    BrokenTimelinesAreCaught();
    WrongReplaysAreCaught();
    return check::Result();
}
