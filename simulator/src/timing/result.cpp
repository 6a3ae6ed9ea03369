// SPDX-License-Identifier: Apache-2.0
#include "timing/result.h"

#include <algorithm>

#include "core/machine.h"
#include "run/soc.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

TimingSummary Summarise(const Timeline& timeline, const CostTable& costs, Assumption assumption, const Soc& soc,
                        bool mix) {
    TimingSummary summary;
    summary.cycles = timeline.cycles;
    summary.microseconds = timeline.cycles / soc.clock_hz * 1e6;
    summary.head_microseconds =
        costs.Figure("kernel head", assumption) + (mix ? costs.Figure("kernel head of a mix kernel", assumption) : 0);
    for (const CoreTimeline& core : timeline.cores) {
        for (int pipe = 0; pipe < kPipeCount; ++pipe) {
            summary.busiest[pipe] = std::max(summary.busiest[pipe], core.busy[pipe]);
            summary.bound[pipe] = std::max(summary.bound[pipe], core.own[pipe]);
        }
        summary.cube_utilisation += core.cube_work / (std::max(timeline.cycles, 1.0) * soc.cube_cores);
        summary.busiest_core = std::max(summary.busiest_core, core.finish);
        summary.mean_core += core.finish / static_cast<double>(timeline.cores.size());
    }
    summary.traffic = timeline.traffic;
    return summary;
}

}  // namespace

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
    result.clock_hz = soc.clock_hz;
    ReplaySettings settings;
    settings.costs = &CostTable::Default(source);
    settings.clock_hz = soc.clock_hz;
    settings.hbm_share = soc.hbm_share;
    settings.l2_bytes = soc.l2_bytes;
    for (const Assumption assumption : {Assumption::kLow, Assumption::kHigh, Assumption::kMiddle}) {
        settings.assumption = assumption;
        record.timeline = Replay(cores, settings);
        result.summaries[static_cast<std::size_t>(assumption)] =
            Summarise(record.timeline, *settings.costs, assumption, soc, IsMix(machine.kind()));
    }
    record.kernel = machine.kernel_name();
    record.soc = machine.soc();
    record.costs = source == CostSource::kMeasured ? "measured" : "documented";
    record.clock_hz = soc.clock_hz;
    record.head_microseconds = result.summaries[static_cast<std::size_t>(Assumption::kMiddle)].head_microseconds;
    result.record = std::make_shared<KeptRecord>(std::move(record));
    return result;
}

std::size_t RunRecord::bytes() const {
    std::size_t total = 0;
    for (const EventStream& stream : streams) {
        total += stream.steps.capacity() * sizeof(Step) + stream.transfers.capacity() * sizeof(Transfer);
    }
    for (const CoreTimeline& core : timeline.cores) {
        total += core.steps.capacity() * sizeof(TimedStep);
    }
    return total;
}

}  // namespace ascend_attention::sim
