// SPDX-License-Identifier: Apache-2.0
// What a block keeps of its timed launches.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "cpp/check.h"
#include "launch/sim/run_settings.h"
#include "timing/result.h"

namespace {

using namespace ascend_attention;

constexpr std::size_t kSteps = 1000;
constexpr std::size_t kBytes = kSteps * (sizeof(sim::Step) + sizeof(sim::TimedStep));

sim::RunReport Timed() {
    sim::RunRecord record;
    record.streams.resize(1);
    record.streams[0].steps.resize(kSteps);
    record.timeline.cores.resize(1);
    record.timeline.cores[0].steps.resize(kSteps);
    auto timing = std::make_shared<sim::TimingResult>();
    timing->clock_hz = 1;
    timing->record = std::make_shared<sim::KeptRecord>(std::move(record));
    sim::RunReport report;
    report.timing = std::move(timing);
    return report;
}

std::vector<bool> Held(const launch::ReportLog& log) {
    std::vector<bool> held;
    for (const sim::RunReport& report : log.Reports()) {
        held.push_back(report.timing != nullptr && report.timing->record != nullptr);
    }
    return held;
}

void OldRecordsGoAndFiguresStay() {
    launch::ReportLog log(2 * kBytes);
    const sim::RunReport first = Timed();
    log.Append(first);
    for (int i = 0; i < 2; ++i) {
        log.Append(Timed());
    }
    CHECK(Held(log) == (std::vector<bool>{true, true, true}));  // two beside the last
    log.Append(sim::RunReport{});
    CHECK(Held(log) == (std::vector<bool>{true, true, true, false}));
    log.Append(Timed());
    CHECK(Held(log) == (std::vector<bool>{false, true, true, false, true}));
    log.Append(Timed());
    CHECK(Held(log) == (std::vector<bool>{false, false, true, false, true, true}));
    CHECK_EQ(log.Reports()[0].timing->clock_hz, 1.0);
    CHECK(first.timing->record->Get() != nullptr);  // who else holds it keeps it
}

void TheLastStaysHoweverLarge() {
    launch::ReportLog log(0);
    log.Append(Timed());
    CHECK(Held(log) == (std::vector<bool>{true}));
    log.Append(Timed());
    CHECK(Held(log) == (std::vector<bool>{false, true}));
}

void ReleasedRecordsTakeNoRoom() {
    launch::ReportLog log(kBytes);
    log.Append(Timed());
    log.Append(Timed());
    const auto kept = log.Reports()[1].timing->record;
    CHECK_EQ(kept->Get()->bytes(), kBytes);
    kept->Release();
    CHECK(kept->Get() == nullptr);
    log.Append(Timed());
    CHECK(Held(log) == (std::vector<bool>{true, true, true}));
}

}  // namespace

int main() {
    OldRecordsGoAndFiguresStay();
    TheLastStaysHoweverLarge();
    ReleasedRecordsTakeNoRoom();
    return check::Result();
}
