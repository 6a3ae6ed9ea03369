// SPDX-License-Identifier: Apache-2.0
#include "timing/summary.h"

#include <algorithm>

#include "core/dtype.h"

namespace ascend_attention::sim {

namespace {

constexpr double kCubeRows = 16;
constexpr double kCubeColumns = 16;
constexpr double kVectorsPerCube = 2;

// Elements that a repeat of 256 bytes, or 32 bytes of k, hold.
double ElementsOf(DType dtype, double bytes) { return bytes * 8 / BitsOf(dtype); }

// Multiply-adds of a cube core in a cycle; that of the 16-bit types when nothing was multiplied.
double ProductsPerCycle(const WorkCount& work) {
    return work.product_cycles > 0 ? work.product_slots / work.product_cycles : kCubeRows * kCubeColumns * kCubeRows;
}

}  // namespace

WorkCount CountWork(const std::vector<ReplayCore>& cores, const CostTable& costs) {
    WorkCount count;
    CostLookup lookup(costs);
    for (const ReplayCore& core : cores) {
        std::vector<double> per_unit;  // by instruction of the stream
        for (const InstructionKey& key : core.stream->instructions) {
            per_unit.push_back(lookup.Find(key).per_unit);
        }
        for (const Step& step : core.stream->steps) {
            if (step.kind != StepKind::kInstruction || (step.pipe != Pipe::kCube && step.pipe != Pipe::kVector)) {
                continue;
            }
            const InstructionKey& key = core.stream->instructions[step.instruction];
            if (step.pipe == Pipe::kCube) {
                count.products += step.rows;
                count.product_slots += step.units * kCubeRows * kCubeColumns * ElementsOf(key.dtype, 32);
                count.product_cycles += step.units * per_unit[step.instruction];
            } else if (!key.units_are_bytes) {  // no copy
                count.lanes += step.units * ElementsOf(key.dtype, 256);
                count.repeats += step.units;
            }
        }
    }
    return count;
}

TimingSummary Summarise(const Timeline& timeline, const WorkCount& work, const ReplaySettings& settings, const Soc& soc,
                        bool mix) {
    TimingSummary summary;
    const auto figure = [&](const char* name) { return settings.costs->Figure(name, settings.assumption); };
    summary.cycles = timeline.cycles;
    summary.microseconds = timeline.cycles / soc.clock_hz * 1e6;
    summary.head_microseconds = figure("kernel head") + (mix ? figure("kernel head of a mix kernel") : 0);
    for (const CoreTimeline& core : timeline.cores) {
        for (int pipe = 0; pipe < kPipeCount; ++pipe) {
            summary.busiest[pipe] = std::max(summary.busiest[pipe], core.busy[pipe]);
            summary.bounds.pipes[pipe] = std::max(summary.bounds.pipes[pipe], core.own[pipe]);
        }
        summary.busiest_core = std::max(summary.busiest_core, core.finish);
        summary.mean_core += core.finish / static_cast<double>(timeline.cores.size());
    }
    summary.traffic = timeline.traffic;
    const MemoryFigures memory = ReadMemoryFigures(settings);
    summary.bounds.l2_reads = static_cast<double>(timeline.traffic.l2_read) / memory.l2_read;
    summary.bounds.l2_writes = static_cast<double>(timeline.traffic.l2_written) / memory.l2_write;
    summary.bounds.hbm = static_cast<double>(timeline.traffic.hbm_read + timeline.traffic.hbm_written) / memory.hbm;
    summary.cube_utilisation =
        work.products / (std::max(timeline.cycles, 1.0) * soc.cube_cores * ProductsPerCycle(work));
    return summary;
}

Roofline PlaceOnRoofline(const TimingSummary& summary, const WorkCount& work, const ReplaySettings& settings,
                         const Soc& soc) {
    Roofline roofline;
    roofline.cube = work.products > 0;
    if (roofline.cube) {
        roofline.flop = 2 * work.products;
        roofline.peak = 2 * ProductsPerCycle(work) * soc.cube_cores * soc.clock_hz;
    } else {
        const double lanes = work.repeats > 0 ? work.lanes / work.repeats : ElementsOf(DType::kFloat16, 256);
        roofline.flop = work.lanes;
        roofline.peak = lanes * kVectorsPerCube * soc.cube_cores * soc.clock_hz;
    }
    roofline.hbm_bytes = static_cast<double>(summary.traffic.hbm_read + summary.traffic.hbm_written);
    roofline.hbm_rate = ReadMemoryFigures(settings).hbm * soc.clock_hz;
    roofline.seconds = summary.microseconds * 1e-6;
    return roofline;
}

}  // namespace ascend_attention::sim
