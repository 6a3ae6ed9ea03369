// SPDX-License-Identifier: Apache-2.0
// The cost table: which row and which figure is taken, and what its files may not say. And how much memory a recording
// may take.
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <filesystem>
#include <fstream>
#include <locale>
#include <string>

#include "cpp/check.h"
#include "timing/cost_table.h"
#include "timing/host_memory.h"
#include "timing/recorder.h"
#include "timing/refusal.h"

namespace {

using namespace ascend_attention::sim;

const std::string kHeader = "instruction,dtype,per_unit,per_unit_documented,fixed,minimum,tail,per_row,unit\n";
const std::string kNoFigures = "figure,low,middle,high,documented\n";

void DocumentedFiguresAreNoRange() {
    const std::string machine = kNoFigures + "both,4,3,2,5\nzero,4,3,2,0\nrange,4,3,2,\n";
    const CostTable measured(kHeader, machine, CostSource::kMeasured);
    const CostTable documented(kHeader, machine, CostSource::kDocumented);
    double expected = 4;
    for (const Assumption assumption : {Assumption::kLow, Assumption::kMiddle, Assumption::kHigh}) {
        for (const char* const figure : {"both", "zero", "range"}) {
            CHECK_EQ(measured.Figure(figure, assumption), expected);
        }
        CHECK_EQ(documented.Figure("both", assumption), 5.0);
        CHECK_EQ(documented.Figure("zero", assumption), 0.0);
        CHECK_EQ(documented.Figure("range", assumption), expected);
        expected -= 1;
    }
}

void OnlyMovesCostByTheirPath() {
    // A key that names no operand has GM>GM in it, whatever it does.
    const CostTable table(kHeader +
                              "GM>GM; GM>GM unaligned; Move GM>GM,*,9,,0,0,0,0,byte\n"
                              "pipe MTE2,*,1,,0,0,0,0,byte\n"
                              "pipe V,*,2,,0,0,0,0,repeat\n",
                          kNoFigures, CostSource::kMeasured);
    InstructionKey key;
    key.pipe = Pipe::kMte2;
    key.units_are_bytes = true;
    for (const char* const name : {"Move", "Other"}) {
        for (const bool unaligned : {false, true}) {
            key.name = name;
            key.unaligned = unaligned;
            key.has_path = false;
            CHECK_EQ(table.Find(key).per_unit, 1.0);
            key.has_path = true;
            CHECK_EQ(table.Find(key).per_unit, 9.0);
        }
    }
    InstructionKey fills;
    fills.name = "Fills";
    fills.pipe = Pipe::kVector;
    CHECK_EQ(table.Find(fills).per_unit, 2.0);
}

void InstructionsWithoutOperandsHaveACost() {
    // Zero counts: they do nothing, and take their time.
    EventRecorder recorder;
    for (const Call& call : {Call{"DataCopy", Pipe::kVector, Site::Here()}, Call{"Add", Pipe::kVector, Site::Here()},
                             Call{"DataCopy", Pipe::kMte2, Site::Here()}, Call{"DataCopy", Pipe::kMte3, Site::Here()},
                             Call{"LoadData", Pipe::kMte1, Site::Here()}, Call{"Mmad", Pipe::kCube, Site::Here()},
                             Call{"Fixpipe", Pipe::kFixpipe, Site::Here()}}) {
        recorder.Begin(call);
        recorder.End();
    }
    CHECK_EQ(recorder.stream().instructions.size(), std::size_t{7});
    for (const InstructionKey& key : recorder.stream().instructions) {
        CHECK(!key.has_path);
        CHECK_EQ(Refusal([&] { CHECK(CostTable::Default(CostSource::kMeasured).Find(key).Occupancy(0, 0) > 0); }), "");
    }
}

void BadCostsAreRefused() {
    const auto costs = [](const std::string& row) { CostTable(kHeader + row, kNoFigures, CostSource::kMeasured); };
    CHECK_EQ(Refusal([&] { costs("Add,*,1,,0,0,0,repeat\n"); }), "instructions.csv:2: 8 fields, the header has 9");
    CHECK_EQ(Refusal([&] { costs("Add,*,-1,,0,0,0,0,repeat\n"); }),
             "instructions.csv:2: per_unit is '-1', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { costs("Add,*,1x,,0,0,0,0,repeat\n"); }),
             "instructions.csv:2: per_unit is '1x', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { costs("Add,*,1,x,0,0,0,0,repeat\n"); }),
             "instructions.csv:2: per_unit_documented is 'x', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { costs("# a comment\nAdd,*,1,,0,0,0,0,repeat\nSub; Add,*,1,,0,0,0,0,repeat\n"); }),
             "instructions.csv:4: a second row for Add, *");
    CHECK_EQ(Refusal([&] { costs("Add,b23,1,,0,0,0,0,repeat\n"); }),
             "instructions.csv:2: dtype is 'b23', allowed: a dtype, b4, b8, b16, b32, b64, *");
    for (const char* const unit : {"", "repeats", "Byte", "repeat; byte"}) {
        CHECK_EQ(Refusal([&] { costs("Add,*,1,,0,0,0,0," + std::string(unit) + "\n"); }),
                 "instructions.csv:2: unit is '" + std::string(unit) +
                     "', allowed: instruction, repeat, fractal product, byte");
    }
    CHECK_EQ(Refusal([&] { costs("Add; pipe V,*,1,,0,0,0,0,byte\n"); }),
             "instructions.csv:2: unit is 'byte', which is not what pipe V counts");
    CHECK_EQ(Refusal([&] { costs("GM>UB unaligned,*,1,,0,0,0,0,repeat\n"); }),
             "instructions.csv:2: unit is 'repeat', which is not what GM>UB unaligned counts");
    // A call's pipe is known when it is looked up.
    const CostTable wrong(kHeader + "Add,*,1,,0,0,0,0,byte\n", kNoFigures, CostSource::kMeasured);
    InstructionKey add;
    add.name = "Add";
    add.pipe = Pipe::kVector;
    CHECK_EQ(Refusal([&] { wrong.Find(add); }),
             "instructions.csv: the row of Add has a unit that pipe V does not count");
    CHECK_EQ(Refusal([&] { CostTable("instruction,dtype\nAdd,*\n", kNoFigures, CostSource::kMeasured); }),
             "instructions.csv has no column 'fixed'");
}

void BadFiguresAreRefused() {
    // Every figure is given; whoever asks for measured costs reads the documented ones as well.
    const auto machine = [](const std::string& row) { CostTable(kHeader, kNoFigures + row, CostSource::kMeasured); };
    CHECK_EQ(Refusal([&] { machine("a,1,1,1,\n"); }), "");
    CHECK_EQ(Refusal([&] { machine("a,1,,1,\n"); }), "machine.csv:2: middle is '', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { machine("a,1,1,-2,\n"); }), "machine.csv:2: high is '-2', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { machine("a,1,1,1,1.8 TB\n"); }),
             "machine.csv:2: documented is '1.8 TB', allowed: a number from 0 on");
    CHECK_EQ(Refusal([&] { machine("a,1,1,1\n"); }), "machine.csv:2: 4 fields, the header has 5");
    CHECK_EQ(Refusal([&] { machine("a,1,1,1,\na,2,2,2,\n"); }), "machine.csv:3: a second row for a");
    CHECK_EQ(Refusal([&] { CostTable(kHeader, "figure,low,middle,high\na,1,1,1\n", CostSource::kMeasured); }),
             "machine.csv has no column 'documented'");
}

// Costs are written with a decimal point, whatever the program around has set.
void CostsAreReadInAnyLanguage() {
    struct Commas : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
    };
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Commas));
    const char* const spoken = std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where the system has it
    const CostTable table(kHeader + "pipe V,*,0.25,,1e1,0,0,0,repeat\n", kNoFigures, CostSource::kMeasured);
    std::locale::global(before);
    std::setlocale(LC_NUMERIC, "C");
    InstructionKey key;
    key.name = "Add";
    key.pipe = Pipe::kVector;
    CHECK_EQ_CONTEXT(table.Find(key).per_unit, 0.25, spoken == nullptr ? "no language with commas" : spoken);
    CHECK_EQ(table.Find(key).fixed, 10.0);
}

// A tree of files as the system shows them.
void HostMemoryIsTheLeastThatAnybodyLeaves() {
    namespace fs = std::filesystem;
    const fs::path root = fs::temp_directory_path() / ("host_memory_" + std::to_string(getpid()));
    const auto write = [&](const char* path, const char* text) {
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    };
    const auto available = [&] { return AvailableHostMemory(root.string()); };
    fs::create_directories(root);
    const std::uint64_t nobody = available();  // without files: the limit of address space alone
    write("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable: 3000 kB\n");
    CHECK_EQ(available(), std::min<std::uint64_t>(nobody, 3000 * 1024));
    write("sys/fs/cgroup/memory.max", "max\n");
    write("sys/fs/cgroup/memory.current", "1900000\n");
    CHECK_EQ(available(), std::min<std::uint64_t>(nobody, 3000 * 1024));
    write("sys/fs/cgroup/memory.max", "2000000\n");
    CHECK_EQ(available(), 100000U);
    // Pages of files can be had back, those in use cannot.
    write("sys/fs/cgroup/memory.stat", "anon 100000\nactive_file 300000\ninactive_file 1500000\n");
    CHECK_EQ(available(), 1600000U);
    write("sys/fs/cgroup/memory.stat", "inactive_file 2900000\n");
    CHECK_EQ(available(), 2000000U);
    write("sys/fs/cgroup/memory.current", "5900000\n");  // more than the group may have
    CHECK_EQ(available(), 0U);
    fs::remove_all(root / "sys");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n");
    write("sys/fs/cgroup/memory/memory.stat", "inactive_file 0\ntotal_inactive_file 250000\n");
    CHECK_EQ(available(), 350000U);
    fs::remove_all(root);
}

}  // namespace

int main() {
    DocumentedFiguresAreNoRange();
    OnlyMovesCostByTheirPath();
    InstructionsWithoutOperandsHaveACost();
    BadCostsAreRefused();
    BadFiguresAreRefused();
    CostsAreReadInAnyLanguage();
    HostMemoryIsTheLeastThatAnybodyLeaves();
    return check::Result();
}
