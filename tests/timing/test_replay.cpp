// SPDX-License-Identifier: Apache-2.0
// The timing replay on hand-made streams whose times can be worked out on paper, with a cost table of round figures.
#include <stdexcept>
#include <string>
#include <vector>

#include "cpp/check.h"
#include "timing/replay.h"

namespace {

using namespace ascend_attention::sim;

const char* const kCosts =
    "instruction,dtype,per_unit,per_unit_documented,fixed,minimum,tail,per_row\n"
    "pipe S,*,0,,0,0,0,0\n"
    "pipe V,*,1,,0,0,20,0\n"
    "Add; Sub,b32,2,1,0,0,20,0\n"
    "pipe M,*,1,,8,0,15,0\n"
    "pipe MTE1,*,0,,10,0,0,0\n"
    "pipe MTE2,*,1,,0,0,50,0\n"
    "pipe MTE3,*,1,,0,0,0,0\n"
    "by row,*,1,,0,0,0,7\n"
    "pipe FIX,*,1,,0,0,0,0\n";

// No issue cost and no latency unless a test asks; 100 bytes per cycle everywhere at 1 Hz.
std::string Machine(const std::string& cross_core = "0", const std::string& depth = "32",
                    const std::string& bandwidth = "100") {
    std::string text = "figure,low,middle,high\n";
    const auto add = [&](const std::string& name, const std::string& value) {
        text += name + "," + value + "," + value + "," + value + "\n";
    };
    add("scalar issue", "0");
    add("sync issue", "0");
    add("flag latency", "0");
    add("cross-core latency", cross_core);
    add("L2 miss latency", "0");
    add("queue depth", depth);
    add("L2 read bandwidth", bandwidth);
    add("L2 write bandwidth", bandwidth);
    add("HBM bandwidth", bandwidth);
    return text;
}

class Program {
public:
    Program& Do(Pipe pipe, std::uint32_t units, const char* name = "", DType dtype = DType::kFloat32) {
        Step step;
        step.pipe = pipe;
        step.units = units;
        step.instruction = static_cast<std::uint16_t>(stream.instructions.size());
        stream.instructions.push_back(InstructionKey{name, pipe, dtype, Space::kUb, Space::kUb});
        stream.steps.push_back(step);
        return *this;
    }
    Program& Rows(std::uint32_t rows) {
        stream.steps.back().rows = rows;
        return *this;
    }
    Program& Move(Pipe pipe, std::uint64_t address, std::uint32_t bytes, bool write) {
        Do(pipe, 1);
        stream.steps.back().first_transfer = static_cast<std::uint32_t>(stream.transfers.size());
        stream.steps.back().transfers = 1;
        Transfer transfer;
        transfer.address = address;
        transfer.row_bytes = bytes;
        transfer.write = write;
        stream.transfers.push_back(transfer);
        return *this;
    }
    Program& Sync(StepKind kind, Pipe pipe, int target = 0, int id = 0) {
        Step step;
        step.kind = kind;
        step.pipe = pipe;
        step.target = static_cast<std::uint8_t>(target);
        step.id = static_cast<std::uint8_t>(id);
        stream.steps.push_back(step);
        return *this;
    }
    Program& Flag(Pipe source, Pipe target) {
        Sync(StepKind::kSet, source, static_cast<int>(target));
        return Sync(StepKind::kWait, source, static_cast<int>(target));
    }

    EventStream stream;
};

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

template <typename Action>
std::string Refusal(Action action) {
    try {
        action();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

void BadDataIsRefused() {
    const auto costs = [](const std::string& row) {
        const std::string header = "instruction,dtype,per_unit,per_unit_documented,fixed,minimum,tail,per_row\n";
        CostTable(header + row, Machine(), CostSource::kMeasured);
    };
    CHECK_EQ(Refusal([&] { costs("Add,*,1,,0,0,0\n"); }), "instructions.csv:2: 7 fields, the header has 8");
    CHECK_EQ(Refusal([&] { costs("Add,*,-1,,0,0,0,0\n"); }),
             "instructions.csv:2: per_unit is '-1', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { costs("Add,*,1x,,0,0,0,0\n"); }),
             "instructions.csv:2: per_unit is '1x', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { costs("# a comment\nAdd,*,1,,0,0,0,0\nSub; Add,*,1,,0,0,0,0\n"); }),
             "instructions.csv:4: a second row for Add, *");
    Program program;
    program.Do(Pipe::kVector, 1);
    CHECK(Refusal([&] { Run({{&program}}, "figure,low,middle,high\n"); }).find("no figure 'scalar issue'") !=
          std::string::npos);
    Program hangs;
    hangs.Sync(StepKind::kCrossWait, Pipe::kScalar, 0, 3);
    CHECK(!Refusal([&] { Run({{&hangs}}); }).empty());
}

}  // namespace

int main() {
    PipesWorkInOrderAndTogether();
    BarriersAndFlagsWaitForResults();
    LaterWorkOfAnotherPipeOvertakes();
    FullQueueStopsIssue();
    CostRowsAreChosen();
    CrossCoreFlagsTellAfterTheirLatency();
    MemoryIsShared();
    BadDataIsRefused();
    return check::Result();
}
