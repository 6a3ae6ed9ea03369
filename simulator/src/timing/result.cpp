// SPDX-License-Identifier: Apache-2.0
#include "timing/result.h"

#include "core/machine.h"
#include "run/soc.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

TimingResult PredictTime(Machine& machine, CostSource source) {
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
    for (const Assumption assumption : {Assumption::kLow, Assumption::kHigh, Assumption::kMiddle}) {
        settings.assumption = assumption;
        record.timeline = Replay(cores, settings);
        result.summaries[static_cast<std::size_t>(assumption)] =
            Summarise(record.timeline, work, settings, soc, IsMix(machine.kind()));
    }
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
