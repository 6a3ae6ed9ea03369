// SPDX-License-Identifier: Apache-2.0
#include "timing/result.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/machine.h"
#include "run/soc.h"
#include "timing/memory_words.h"
#include "timing/recorder.h"
#include "timing/replay_all.h"

namespace ascend_attention::sim {

namespace {

std::string Place(const Site& site) { return BaseName(site.file) + ":" + std::to_string(site.line); }

}  // namespace

void RefuseMemoryWords(Machine& machine) {
    std::vector<ReplayCore> cores;
    for (const std::unique_ptr<Core>& core : machine.cores()) {
        const CoreIdentity& identity = core->identity();
        cores.push_back(ReplayCore{&core->recorder()->stream(), identity.block, identity.type == CoreType::kCube});
    }
    const UnorderedWords words = FindUnorderedWords(cores);
    if (!words.found && !words.gave_up) {
        return;
    }
    if (words.gave_up) {
        machine.log().Add(Finding{Severity::kError, "not modelled",
                                  "the cores touch global memory too often for timed mode to tell whether one of them "
                                  "waits for what another one writes there: a smaller problem, or fewer looks of the "
                                  "scalar unit at what a core has read"},
                          "memory words");
        return;
    }
    const auto name = [&](int core) { return machine.cores()[static_cast<std::size_t>(core)]->name(); };
    machine.log().Add(
        Finding{Severity::kError, "not modelled",
                name(words.core) + " touches global memory (" + Place(words.site) + ") that " + name(words.other) +
                    " touches as well (" + Place(words.other_site) +
                    "), no cross-core flag orders the two, and what is found there may decide what a core does: timed "
                    "mode cannot tell how often it would look"},
        "memory words");
}

TimingResult PredictTime(Machine& machine, CostSource source, int threads) {
    TimingResult result;
    RunRecord record;
    const Soc& soc = FindSoc(machine.soc());
    std::vector<ReplayCore> cores;
    for (const std::unique_ptr<Core>& core : machine.cores()) {
        const CoreIdentity& identity = core->identity();
        record.streams.push_back(core->recorder()->TakeStream());
        record.cores.push_back(RecordedCore{core->name(), identity.block, identity.type == CoreType::kCube});
    }
    for (std::size_t i = 0; i < record.streams.size(); ++i) {
        cores.push_back(ReplayCore{&record.streams[i], record.cores[i].block, record.cores[i].cube});
    }
    result.costs = source;
    result.clock_hz = soc.clock_hz;
    ReplaySettings settings;
    settings.costs = &CostTable::Default(source);
    settings.clock_hz = soc.clock_hz;
    settings.hbm_share = soc.hbm_share;
    settings.l2_bytes = soc.l2_bytes;
    const WorkCount work = CountWork(cores, *settings.costs);
    std::array<Timeline, kAssumptions> timelines = ReplayAll(cores, settings, threads);
    for (std::size_t i = 0; i < kAssumptions; ++i) {
        settings.assumption = static_cast<Assumption>(i);
        result.summaries[i] = Summarise(timelines[i], work, settings, soc, IsMix(machine.kind()));
    }
    settings.assumption = Assumption::kMiddle;
    record.timeline = std::move(timelines[static_cast<std::size_t>(Assumption::kMiddle)]);
    const TimingSummary& middle = result.summaries[static_cast<std::size_t>(Assumption::kMiddle)];
    result.path = FindCriticalPath(cores, record.timeline);
    result.roofline = PlaceOnRoofline(middle, work, settings, soc);
    for (std::size_t i = 0; i < cores.size(); ++i) {
        const CoreTimeline& core = record.timeline.cores[i];
        result.cores.push_back(CoreTime{record.cores[i].name, core.finish, core.busy});
    }
    record.kernel = machine.kernel_name();
    record.soc = machine.soc();
    record.costs = source == CostSource::kMeasured ? "measured" : "documented";
    record.clock_hz = soc.clock_hz;
    record.head_microseconds = middle.head_microseconds;
    result.record = std::make_shared<KeptRecord>(std::move(record));
    return result;
}

}  // namespace ascend_attention::sim
