// SPDX-License-Identifier: Apache-2.0
#include "timing_report.h"

#include <array>
#include <cstddef>
#include <string>

#include "core/findings.h"
#include "sim_report.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

const char* const kAssumptions[] = {"low", "middle", "high"};
const char* const kParts[sim::kPathPartCount] = {"work",      "memory",          "latency", "flag",
                                                 "unit flag", "cross-core flag", "issue"};
constexpr std::size_t kMostSites = 20;

const char* CauseName(sim::Cause cause) {
    switch (cause) {
        case sim::Cause::kStart:
            return "nothing";
        case sim::Cause::kPipe:
            return "its pipe";
        case sim::Cause::kFlag:
            return "a flag or barrier";
        case sim::Cause::kCrossFlag:
            return "a flag of another core";
        case sim::Cause::kUnits:
            return "a unit flag of L0C";
        case sim::Cause::kQueue:
            return "a place in a pipe's queue";
        default:
            return "the scalar unit";
    }
}

py::dict ByPipe(const std::array<double, sim::kPipeCount>& values) {
    py::dict result;
    for (int pipe = 0; pipe < sim::kPipeCount; ++pipe) {
        result[NameOf(static_cast<sim::Pipe>(pipe))] = values[static_cast<std::size_t>(pipe)];
    }
    return result;
}

py::dict SummaryToDict(const sim::TimingSummary& summary) {
    py::dict entry;
    entry["cycles"] = summary.cycles;
    entry["microseconds"] = summary.microseconds;
    entry["head_microseconds"] = summary.head_microseconds;
    entry["cube_utilisation"] = summary.cube_utilisation;
    entry["busiest_core"] = summary.busiest_core;
    entry["mean_core"] = summary.mean_core;
    entry["busiest"] = ByPipe(summary.busiest);
    py::dict bound = ByPipe(summary.bounds.pipes);
    bound["L2 reads"] = summary.bounds.l2_reads;
    bound["L2 writes"] = summary.bounds.l2_writes;
    bound["HBM"] = summary.bounds.hbm;
    entry["bound"] = bound;
    entry["hbm_read"] = summary.traffic.hbm_read;
    entry["hbm_written"] = summary.traffic.hbm_written;
    entry["l2_read"] = summary.traffic.l2_read;
    entry["l2_written"] = summary.traffic.l2_written;
    return entry;
}

py::list CoresToList(const sim::TimingResult& timing) {
    py::list cores;
    for (const sim::CoreTime& core : timing.cores) {
        py::dict entry;
        entry["core"] = core.name;
        entry["finish"] = core.finish;
        entry["busy"] = ByPipe(core.busy);
        cores.append(entry);
    }
    return cores;
}

py::dict PathToDict(const sim::CriticalPath& path) {
    py::dict parts;
    for (int part = 0; part < sim::kPathPartCount; ++part) {
        parts[kParts[part]] = path.parts[static_cast<std::size_t>(part)];
    }
    py::list sites;
    for (std::size_t i = 0; i < path.sites.size() && i < kMostSites; ++i) {
        const sim::PathSite& site = path.sites[i];
        py::dict entry;
        entry["instruction"] = site.instruction;
        entry["file"] = TextToStr(sim::BaseName(site.site.file));
        entry["line"] = site.site.line;
        entry["core"] = site.cube ? "AIC" : "AIV";
        entry["pipe"] = NameOf(site.pipe);
        entry["cycles"] = site.cycles;
        entry["count"] = site.count;
        entry["waits_for"] = CauseName(site.waits_for);
        sites.append(entry);
    }
    py::dict result;
    result["cycles"] = path.cycles;
    result["instructions"] = path.instructions;
    result["parts"] = parts;
    result["by_pipe"] = ByPipe(path.by_pipe);
    result["sites"] = sites;
    return result;
}

py::dict RooflineToDict(const sim::Roofline& roofline) {
    py::dict result;
    result["unit"] = roofline.cube ? "cube" : "vector";
    result["flop"] = roofline.flop;
    result["hbm_bytes"] = roofline.hbm_bytes;
    result["seconds"] = roofline.seconds;
    result["peak"] = roofline.peak;
    result["hbm_bandwidth"] = roofline.hbm_rate;
    return result;
}

}  // namespace

py::dict TimingToDict(const sim::TimingResult& timing) {
    py::dict result;
    for (std::size_t i = 0; i < timing.summaries.size(); ++i) {
        result[kAssumptions[i]] = SummaryToDict(timing.summaries[i]);
    }
    result["costs"] = NameOf(timing.costs);
    result["clock_hz"] = timing.clock_hz;
    result["cores"] = CoresToList(timing);
    result["critical_path"] = PathToDict(timing.path);
    result["roofline"] = RooflineToDict(timing.roofline);
    return result;
}

}  // namespace ascend_attention::python
