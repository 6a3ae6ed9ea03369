// SPDX-License-Identifier: Apache-2.0
// The timing replay on hand-made streams whose times can be worked out on paper, with a cost table of round figures.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cpp/check.h"
#include "timing/agenda.h"
#include "timing/critical_path.h"
#include "timing/memory_words.h"
#include "timing/program.h"
#include "timing/refusal.h"
#include "timing/replay.h"
#include "timing/replay_all.h"

namespace {

using namespace ascend_attention::sim;
using checks::Program;

const char* const kCosts =
    "instruction,dtype,per_unit,per_unit_documented,fixed,minimum,tail,per_row,unit\n"
    "pipe S,*,0,,0,0,0,0,instruction\n"
    "pipe V,*,1,,0,0,20,0,repeat\n"
    "Add; Sub,b32,2,1,0,0,20,0,repeat\n"
    "pipe M,*,1,,8,0,15,0,fractal product\n"
    "pipe MTE1,*,0,,10,0,0,0,byte\n"
    "pipe MTE2,*,1,,0,0,50,0,byte\n"
    "pipe MTE3,*,1,,0,0,0,0,byte\n"
    "by row,*,1,,0,0,0,7,byte\n"
    "pipe FIX,*,1,,0,0,0,0,byte\n";

// No issue cost and no latency unless a test asks; 100 bytes per cycle everywhere at 1 Hz.
std::string Machine(const std::string& cross_core = "0", const std::string& depth = "32",
                    const std::string& bandwidth = "100", const std::string& unit_flag = "0",
                    const std::string& mask = "0") {
    std::string text = "figure,low,middle,high,documented\n";
    const auto add = [&](const std::string& name, const std::string& value) {
        text += name + "," + value + "," + value + "," + value + ",\n";
    };
    add("scalar issue", "0");
    add("sync issue", "0");
    add("flag latency", "0");
    add("cross-core latency", cross_core);
    add("unit flag latency", unit_flag);
    add("mask setting", mask);
    add("L2 miss latency", "0");
    add("queue depth", depth);
    add("L2 read bandwidth", bandwidth);
    add("L2 write bandwidth", bandwidth);
    add("HBM bandwidth", bandwidth);
    return text;
}

struct Core {
    const Program* program;
    std::uint32_t block = 0;
    bool cube = false;
};

Timeline Run(const std::vector<Core>& cores, const std::string& machine = Machine(),
             CostSource source = CostSource::kMeasured) {
    const CostTable table(kCosts, machine, source);
    std::vector<ReplayCore> replay;
    for (const Core& core : cores) {
        replay.push_back(ReplayCore{&core.program->stream, core.block, core.cube});
    }
    ReplaySettings settings;
    settings.costs = &table;
    settings.clock_hz = 1;
    settings.l2_bytes = 1 << 20;
    return Replay(replay, settings);
}

double StartOf(const Timeline& timeline, std::size_t core, std::size_t step) {
    return timeline.cores[core].steps[step].start;
}

void PipesWorkInOrderAndTogether() {
    Program program;
    program.Do(Pipe::kVector, 10).Do(Pipe::kVector, 5).Do(Pipe::kMte2, 100);
    const Timeline timeline = Run({{&program}});
    CHECK_EQ(StartOf(timeline, 0, 0), 0.0);
    CHECK_EQ(StartOf(timeline, 0, 1), 10.0);  // the pipe is free before the result is there
    CHECK_EQ(StartOf(timeline, 0, 2), 0.0);
    CHECK_EQ(timeline.cores[0].busy[static_cast<int>(Pipe::kVector)], 15.0);
    CHECK_EQ(timeline.cycles, 150.0);  // 100 and the tail of MTE2
}

void BarriersAndFlagsWaitForResults() {
    Program barrier;
    barrier.Do(Pipe::kVector, 10).Sync(StepKind::kBarrier, Pipe::kVector).Do(Pipe::kVector, 5);
    CHECK_EQ(StartOf(Run({{&barrier}}), 0, 2), 30.0);

    Program flag;
    flag.Do(Pipe::kMte2, 40).Flag(Pipe::kMte2, Pipe::kVector).Do(Pipe::kVector, 5);
    const Timeline timeline = Run({{&flag}});
    CHECK_EQ(StartOf(timeline, 0, 3), 90.0);
    CHECK(timeline.cores[0].steps[3].cause == Cause::kFlag);
    CHECK_EQ(timeline.cores[0].steps[3].by.step, 0U);

    Program all;
    all.Do(Pipe::kMte2, 40).Do(Pipe::kVector, 10).Sync(StepKind::kBarrier, Pipe::kAll).Do(Pipe::kMte3, 1);
    CHECK_EQ(StartOf(Run({{&all}}), 0, 3), 90.0);
}

void LaterWorkOfAnotherPipeOvertakes() {
    // The load waits for the slow vector instruction; the store behind it in program order does not.
    Program program;
    program.Do(Pipe::kVector, 500).Flag(Pipe::kVector, Pipe::kMte2).Do(Pipe::kMte2, 10).Do(Pipe::kMte3, 10);
    const Timeline timeline = Run({{&program}});
    CHECK_EQ(StartOf(timeline, 0, 3), 520.0);
    CHECK_EQ(StartOf(timeline, 0, 4), 0.0);
}

void FullQueueStopsIssue() {
    Program program;
    for (int i = 0; i < 4; ++i) {
        program.Do(Pipe::kVector, 100);
    }
    program.Do(Pipe::kMte3, 1);
    CHECK_EQ(StartOf(Run({{&program}}, Machine("0", "32")), 0, 4), 0.0);
    // With two places the fourth vector instruction is issued when the second starts, and only then the store.
    const Timeline held = Run({{&program}}, Machine("0", "2"));
    CHECK_EQ(StartOf(held, 0, 4), 100.0);
    CHECK(held.cores[0].steps[4].cause == Cause::kQueue);
}

void CostRowsAreChosen() {
    Program program;
    program.Do(Pipe::kVector, 10, "Add").Do(Pipe::kVector, 10, "Add", DType::kFloat16);
    const Timeline measured = Run({{&program}});
    CHECK_EQ(measured.cores[0].steps[0].occupancy, 20.0F);
    CHECK_EQ(measured.cores[0].steps[1].occupancy, 10.0F);  // no row for 16 bits: the pipe's
    CHECK_EQ(Run({{&program}}, Machine(), CostSource::kDocumented).cores[0].steps[0].occupancy, 10.0F);

    Program rows;
    rows.Do(Pipe::kMte2, 10, "by row").Rows(3);
    CHECK_EQ(Run({{&rows}}).cores[0].steps[0].occupancy, 21.0F);
}

void CrossCoreFlagsTellAfterTheirLatency() {
    Program cube;
    cube.Do(Pipe::kFixpipe, 100).Sync(StepKind::kCrossSet, Pipe::kFixpipe, 2, 3);
    cube.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 4).Do(Pipe::kMte2, 1);
    Program vector;
    vector.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 3).Do(Pipe::kMte2, 10);
    vector.Sync(StepKind::kCrossSet, Pipe::kMte2, 2, 4);
    Program slow_vector;
    slow_vector.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 3).Do(Pipe::kMte2, 60);
    slow_vector.Sync(StepKind::kCrossSet, Pipe::kMte2, 2, 4);
    const Timeline timeline = Run({{&cube, 0, true}, {&vector}, {&slow_vector}}, Machine("25"));
    CHECK_EQ(StartOf(timeline, 1, 1), 125.0);
    // The cube core goes on when both vector cores have told it, the later one 125 + 60 + 50 + 25.
    CHECK_EQ(StartOf(timeline, 0, 3), 260.0);
    CHECK(timeline.cores[0].steps[3].cause == Cause::kCrossFlag);
    CHECK_EQ(timeline.cores[0].steps[3].by.core, 2);
}

void MemoryIsShared() {
    Program load;
    load.Move(Pipe::kMte2, 0, 51200, false);
    // 51200 bytes at 100 bytes a cycle take 512 cycles; whoever comes second waits.
    Program other;
    other.Move(Pipe::kMte2, 1 << 16, 51200, false);
    const Timeline both = Run({{&load}, {&other, 1}});
    CHECK_EQ(both.cores[0].steps[0].occupancy, 512.0F);
    CHECK_EQ(both.cores[1].steps[0].occupancy, 1024.0F);
    CHECK_EQ(both.traffic.hbm_read, 102400U);

    // What has been read lies in L2: the second read of the same lines costs HBM nothing.
    Program again;
    again.Move(Pipe::kMte2, 0, 51200, false).Move(Pipe::kMte2, 0, 51200, false).Move(Pipe::kMte3, 0, 51200, true);
    const Timeline cached = Run({{&again}});
    CHECK_EQ(cached.traffic.hbm_read, 51200U);
    CHECK_EQ(cached.traffic.l2_read, 102400U);
    CHECK_EQ(cached.traffic.hbm_written, 51200U);

    // More than L2 holds does not stay there.
    Program big;
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t at = 0; at < (std::uint64_t{4} << 20); at += 1 << 16) {
            big.Move(Pipe::kMte2, at, 1 << 16, false);
        }
    }
    CHECK_EQ(Run({{&big}}).traffic.hbm_read, std::uint64_t{8} << 20);
}

// Mmad of 100 + 8 cycles, its result 15 later; Fixpipe of 60.
void UnitFlagsLetFixpipeWorkBesideMmad() {
    Program flags;
    flags.Do(Pipe::kCube, 100).Flag(Pipe::kCube, Pipe::kFixpipe).Do(Pipe::kFixpipe, 60);
    CHECK_EQ(StartOf(Run({{&flags}}), 0, 3), 123.0);

    Program units;
    units.Do(Pipe::kCube, 100).Units(3).Do(Pipe::kFixpipe, 60).Units(3, 0);
    units.Do(Pipe::kCube, 100).Units(2, 1).Do(Pipe::kCube, 100).Units(3, 1);
    const Timeline timeline = Run({{&units}}, Machine("0", "32", "100", "4"));
    const std::vector<TimedStep>& steps = timeline.cores[0].steps;
    // The first units come with the first result, and 4 cycles; the last one when the Mmad's result is there.
    CHECK_EQ(steps[1].start, 19.0);
    CHECK_EQ(steps[1].end(), 127.0);
    CHECK(steps[1].ends_with && steps[1].cause == Cause::kUnits);
    CHECK_EQ(steps[1].by.step, 0U);
    // The next Mmad waits for its pipe, and for the Fixpipe to end before it ends.
    CHECK_EQ(steps[2].start, 108.0);
    CHECK_EQ(steps[2].end(), 216.0);
    CHECK_EQ(steps[3].start, 216.0);

    // A Fixpipe that is slower than the Mmad after it holds that one's end back; without unit flags nothing would.
    Program slow;
    slow.Do(Pipe::kCube, 100).Units(3).Do(Pipe::kFixpipe, 500).Units(3, 0).Do(Pipe::kCube, 50).Units(3, 1);
    const Timeline held = Run({{&slow}}, Machine("0", "32", "100", "4"));
    CHECK_EQ(held.cores[0].steps[1].end(), 519.0);
    CHECK_EQ(held.cores[0].steps[2].start, 108.0);
    CHECK_EQ(held.cores[0].steps[2].end(), 523.0);
    CHECK_EQ(held.cores[0].own[static_cast<int>(Pipe::kCube)], 166.0);
}

void ScalarUnitPaysForMasks() {
    Program plain;
    Program masks;
    for (int i = 0; i < 3; ++i) {
        plain.Do(Pipe::kVector, 1);
        masks.Do(Pipe::kVector, 1).SetsMask();
    }
    const std::string machine = Machine("0", "32", "100", "0", "4");
    CHECK_EQ(StartOf(Run({{&plain}}, machine), 0, 2), 2.0);
    const Timeline timeline = Run({{&masks}}, machine);
    CHECK_EQ(StartOf(timeline, 0, 2), 12.0);
    CHECK(timeline.cores[0].steps[2].cause == Cause::kIssue);
    CHECK_EQ(timeline.cores[0].busy[static_cast<int>(Pipe::kScalar)], 12.0);
}

void UnitFlagsOnTheCriticalPath() {
    // The Fixpipe begins with the first unit of the Mmad (15 for its result, 4 to hand it over) and is the longer one.
    Program program;
    program.Do(Pipe::kCube, 100).Units(3).Do(Pipe::kFixpipe, 500).Units(3, 0);
    const std::vector<ReplayCore> cores = {ReplayCore{&program.stream, 0, true}};
    const CostTable table(kCosts, Machine("0", "32", "100", "4"), CostSource::kMeasured);
    ReplaySettings settings;
    settings.costs = &table;
    settings.clock_hz = 1;
    const CriticalPath path = FindCriticalPath(cores, Replay(cores, settings));
    CHECK_EQ(path.cycles, 519.0);
    CHECK_EQ(path.parts[static_cast<int>(PathPart::kWork)], 500.0);
    CHECK_EQ(path.parts[static_cast<int>(PathPart::kLatency)], 15.0);
    CHECK_EQ(path.parts[static_cast<int>(PathPart::kUnitFlag)], 4.0);

    // The Mmad is the longer one: the Fixpipe ends with it, and what it did meanwhile has cost nothing.
    Program other;
    other.Do(Pipe::kCube, 600).Units(3).Do(Pipe::kFixpipe, 50).Units(3, 0);
    const std::vector<ReplayCore> second = {ReplayCore{&other.stream, 0, true}};
    const CriticalPath end = FindCriticalPath(second, Replay(second, settings));
    CHECK_EQ(end.cycles, 627.0);
    CHECK_EQ(end.by_pipe[static_cast<int>(Pipe::kCube)], 623.0);
    CHECK_EQ(end.by_pipe[static_cast<int>(Pipe::kFixpipe)], 0.0);
    CHECK_EQ(end.parts[static_cast<int>(PathPart::kUnitFlag)], 4.0);
}

// Every core waits for the last one, and goes on when its word has come.
void AllCoresMeet() {
    Program early;
    early.Do(Pipe::kVector, 10).Sync(StepKind::kCrossSet, Pipe::kVector, 0, 14);
    early.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 14).Do(Pipe::kVector, 1);
    Program late;
    late.Do(Pipe::kVector, 300).Sync(StepKind::kCrossSet, Pipe::kVector, 0, 14);
    late.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 14).Do(Pipe::kVector, 1);
    const Timeline timeline = Run({{&early, 0}, {&late, 1}, {&early, 2}}, Machine("50"));
    for (std::size_t core = 0; core < 3; ++core) {
        CHECK_EQ(StartOf(timeline, core, 3), 370.0);  // 300, 20 for the result, 50
        CHECK_EQ(timeline.cores[core].steps[3].by.core, 1);
    }
}

// In order to end all pipes, a barrier waits for waits as well as for work.
void BarrierOfAllPipesWaitsForWaits() {
    Program program;
    program.Do(Pipe::kMte2, 400).Sync(StepKind::kSet, Pipe::kMte2, static_cast<int>(Pipe::kVector));
    program.Sync(StepKind::kWait, Pipe::kMte2, static_cast<int>(Pipe::kVector));
    program.Sync(StepKind::kBarrier, Pipe::kAll).Do(Pipe::kMte3, 1);
    CHECK_EQ(StartOf(Run({{&program}}), 0, 4), 450.0);
}

void TrafficAroundL2() {
    Program around;
    for (int i = 0; i < 2; ++i) {
        around.Move(Pipe::kMte2, 0, 51200, false);
        around.stream.transfers.back().bypasses_l2 = true;
    }
    const Timeline timeline = Run({{&around}});
    CHECK_EQ(timeline.traffic.hbm_read, 102400U);
    CHECK_EQ(timeline.traffic.l2_read, 0U);
    CHECK_EQ(timeline.cores[0].steps[1].start, 512.0);

    // A piece of a line costs the line, and a partial store brings it in first.
    Program narrow;
    narrow.Move(Pipe::kMte3, 64, 64, true);
    CHECK_EQ(Run({{&narrow}}).traffic.hbm_read, 512U);
    CHECK_EQ(Run({{&narrow}}).traffic.hbm_written, 512U);
}

void CriticalPathLeadsBackToTheStart() {
    Program program;
    program.Do(Pipe::kMte2, 40).Flag(Pipe::kMte2, Pipe::kVector);
    program.Do(Pipe::kVector, 10).Do(Pipe::kVector, 30).Flag(Pipe::kVector, Pipe::kMte3);
    program.Do(Pipe::kMte1, 1).Do(Pipe::kMte3, 7);
    const std::vector<ReplayCore> cores = {ReplayCore{&program.stream, 0, false}};
    const CostTable table(kCosts, Machine(), CostSource::kMeasured);
    ReplaySettings settings;
    settings.costs = &table;
    settings.clock_hz = 1;
    settings.l2_bytes = 1 << 20;
    const Timeline timeline = Replay(cores, settings);
    const CriticalPath path = FindCriticalPath(cores, timeline);
    CHECK_EQ(timeline.cycles, 157.0);  // 40 + 50, 10 + 30 + 20, 7
    CHECK_EQ(path.cycles, 157.0);
    CHECK_EQ(path.instructions, 4U);  // not the one on MTE1
    CHECK_EQ(path.parts[static_cast<int>(PathPart::kWork)], 87.0);
    CHECK_EQ(path.parts[static_cast<int>(PathPart::kLatency)], 70.0);
    CHECK_EQ(path.by_pipe[static_cast<int>(Pipe::kVector)], 60.0);
    CHECK_EQ(path.by_pipe[static_cast<int>(Pipe::kMte2)], 90.0);
    CHECK_EQ(path.sites.size(), 3U);
    CHECK(path.sites[0].pipe == Pipe::kMte2 && path.sites[0].waits_for == Cause::kStart);
    CHECK(path.sites[2].pipe == Pipe::kMte3 && path.sites[2].waits_for == Cause::kFlag);
}

// Words of global memory that two scalar units touch, one of them with a store.
void WordsNeedFlagsBetweenCores() {
    const auto touch = [](Program& program, std::uint64_t address, bool write) {
        program.Do(Pipe::kScalar, 1);
        WordAccess word;
        word.address = address;
        word.step = static_cast<std::uint32_t>(program.Last());
        word.bytes = 4;
        word.write = write;
        program.stream.words.push_back(word);
    };
    const auto found = [](const Program& first, const Program& second) {
        return FindUnorderedWords({ReplayCore{&first.stream, 0, false}, ReplayCore{&second.stream, 1, false}}).found;
    };
    const auto meet = [](Program& program) {
        program.Sync(StepKind::kCrossSet, Pipe::kMte3, 0, 14).Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 14);
    };
    Program store;
    touch(store, 64, true);
    meet(store);
    Program load;
    touch(load, 64, false);
    meet(load);
    CHECK(found(store, load));  // whichever comes first
    CHECK(found(load, store));
    CHECK(found(store, store));
    CHECK(!found(load, load));
    Program load_after;
    meet(load_after);
    touch(load_after, 64, false);
    CHECK(!found(store, load_after));
    CHECK(!found(load_after, store));
    Program neighbour;
    touch(neighbour, 68, false);
    meet(neighbour);
    CHECK(!found(store, neighbour));  // other bytes
    const UnorderedWords words =
        FindUnorderedWords({ReplayCore{&store.stream, 0, false}, ReplayCore{&load.stream, 1, false}});
    CHECK_EQ(words.core, 1);
    CHECK_EQ(words.other, 0);
}

// The same through the core's memory: a move brings what another core writes, and the scalar unit looks at it.
void LooksNeedFlagsBetweenCores() {
    const auto move = [](Program& program, std::uint64_t address, std::uint32_t bytes, bool write) {
        program.Move(write ? Pipe::kMte3 : Pipe::kMte2, address, bytes, write);
        program.stream.transfers.back().shared = true;
    };
    const auto look = [](Program& program) {
        program.Do(Pipe::kScalar, 1);
        program.stream.looked_before = static_cast<std::uint32_t>(program.Last());
    };
    const auto find = [](const Program& first, const Program& second, std::size_t most = 1000) {
        return FindUnorderedWords({ReplayCore{&first.stream, 0, false}, ReplayCore{&second.stream, 1, false}}, most);
    };
    const auto meet = [](Program& program) {
        program.Sync(StepKind::kCrossSet, Pipe::kMte3, 0, 14).Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 14);
    };
    Program writer;
    move(writer, 256, 64, true);
    meet(writer);
    Program poll;
    move(poll, 288, 32, false);
    look(poll);
    meet(poll);
    const UnorderedWords words = find(writer, poll);
    CHECK(words.found && !words.gave_up);
    CHECK_EQ(words.core, 1);
    CHECK_EQ(words.other, 0);
    CHECK(find(poll, writer).found);
    CHECK(!find(poll, poll).found);  // nobody writes

    Program blind;  // no look: whatever it reads, it does the same
    move(blind, 288, 32, false);
    meet(blind);
    CHECK(!find(writer, blind).found);
    Program early;  // it looks at something that it read before
    look(early);
    move(early, 288, 32, false);
    meet(early);
    CHECK(!find(writer, early).found);
    Program after;
    meet(after);
    move(after, 288, 32, false);
    look(after);
    CHECK(!find(writer, after).found);
    Program again;  // written once more after the two have met
    move(again, 256, 64, true);
    meet(again);
    move(again, 256, 64, true);
    CHECK(find(again, after).found);
    Program elsewhere;
    move(elsewhere, 320, 32, false);
    look(elsewhere);
    meet(elsewhere);
    CHECK(!find(writer, elsewhere).found);

    // However many conflicts lie before it, none is lost; where there are too many, it says so.
    Program many;
    Program looks;
    for (std::uint32_t i = 0; i < 6000; ++i) {
        move(many, i * 32, 32, true);
        move(looks, i * 32, 32, false);
    }
    meet(many);
    move(many, 32 * 6000, 32, true);
    meet(looks);
    for (std::uint32_t i = 0; i <= 6000; ++i) {
        move(looks, i * 32, 32, false);
    }
    look(looks);
    for (std::uint32_t i = 0; i < 6000; ++i) {
        looks.stream.transfers[i].shared = false;
    }
    CHECK(find(many, looks, 100000).found);
    CHECK(find(many, looks, 5000).gave_up);
    CHECK(!find(many, looks, 5000).found);
}

void WhatCannotBeReplayedIsRefused() {
    Program program;
    program.Do(Pipe::kVector, 1);
    CHECK(Refusal([&] { Run({{&program}}, "figure,low,middle,high,documented\n"); }).find("no figure 'scalar issue'") !=
          std::string::npos);
    Program hangs;
    hangs.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 3);
    CHECK(!Refusal([&] { Run({{&hangs}}); }).empty());
}

void AppointmentsComeInOrder() {
    Agenda agenda;
    std::vector<Appointment> waiting;  // in the order they were made
    unsigned random = 1;
    const auto draw = [&](unsigned below) { return (random = random * 1664525U + 1013904223U) / 65536U % below; };
    double now = 0;
    int wrong = 0;
    for (int round = 0; round < 20000; ++round) {
        // Grows to some hundreds, shrinks again; many have the same time.
        if (waiting.empty() || draw(100) < (round % 4000 < 2000 ? 60U : 40U)) {
            const Appointment made{now + draw(12), static_cast<int>(draw(72)), static_cast<int>(draw(7))};
            const bool next = std::all_of(waiting.begin(), waiting.end(),
                                          [&](const Appointment& other) { return made.time < other.time; });
            wrong += agenda.WouldBeNext(made.time) != next ? 1 : 0;
            agenda.Add(made);
            waiting.push_back(made);
            continue;
        }
        const auto first = std::min_element(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
            return a.time < b.time;  // of several the one made first
        });
        const Appointment taken = agenda.Take();
        wrong += taken.time != first->time || taken.core != first->core || taken.pipe != first->pipe ? 1 : 0;
        now = taken.time;
        waiting.erase(first);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(agenda.empty(), waiting.empty());
}

void ReplaysDoNotDependOnThreads() {
    std::vector<Program> programs(6);
    for (std::size_t core = 0; core < programs.size(); ++core) {
        for (unsigned i = 0; i < 40; ++i) {
            const auto offset = static_cast<std::uint32_t>(core * 4096 + i * 96);
            programs[core].Move(Pipe::kMte2, offset, 96, false).Flag(Pipe::kMte2, Pipe::kVector);
            programs[core].Do(Pipe::kVector, 3).Flag(Pipe::kVector, Pipe::kMte3);
            programs[core].Move(Pipe::kMte3, 1000000 + offset, 96, true);
        }
    }
    std::vector<ReplayCore> cores;
    for (const Program& program : programs) {
        cores.push_back(ReplayCore{&program.stream, static_cast<std::uint32_t>(cores.size()), false});
    }
    ReplaySettings settings;
    settings.costs = &CostTable::Default(CostSource::kMeasured);
    settings.clock_hz = 1e9;
    settings.l2_bytes = 1 << 20;
    const auto alone = ReplayAll(cores, settings, 1);
    CHECK(alone[0].cycles < alone[1].cycles && alone[1].cycles < alone[2].cycles);
    for (const int threads : {2, 3, 8}) {
        const auto shared = ReplayAll(cores, settings, threads, 7);
        for (std::size_t i = 0; i < kAssumptions; ++i) {
            CHECK_EQ(shared[i].cycles, alone[i].cycles);
            CHECK_EQ(shared[i].traffic.hbm_read, alone[i].traffic.hbm_read);
            CHECK_EQ(shared[i].cores[5].finish, alone[i].cores[5].finish);
            CHECK_EQ(shared[i].cores[5].steps.size(), i == 1 ? programs[5].stream.steps.size() : 0);
        }
    }
    programs[3].Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 3);
    for (const int threads : {1, 2, 3}) {
        CHECK_EQ(Refusal([&] { ReplayAll(cores, settings, threads, 7); }), "timing: a core never came to its end");
    }
}

}  // namespace

int main() {
    AppointmentsComeInOrder();
    ReplaysDoNotDependOnThreads();
    PipesWorkInOrderAndTogether();
    BarriersAndFlagsWaitForResults();
    LaterWorkOfAnotherPipeOvertakes();
    FullQueueStopsIssue();
    CostRowsAreChosen();
    CrossCoreFlagsTellAfterTheirLatency();
    MemoryIsShared();
    UnitFlagsLetFixpipeWorkBesideMmad();
    UnitFlagsOnTheCriticalPath();
    ScalarUnitPaysForMasks();
    AllCoresMeet();
    BarrierOfAllPipesWaitsForWaits();
    TrafficAroundL2();
    CriticalPathLeadsBackToTheStart();
    WordsNeedFlagsBetweenCores();
    LooksNeedFlagsBetweenCores();
    WhatCannotBeReplayedIsRefused();
    return check::Result();
}
