// SPDX-License-Identifier: Apache-2.0
// What timed launches leave behind, for run.trace.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/findings.h"
#include "interpreter_lock.h"
#include "sim_bindings.h"
#include "timing/record.h"
#include "timing/trace_bars.h"
#include "timing/trace_json.h"
#include "timing/trace_walk.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

using Record = std::shared_ptr<const sim::RunRecord>;

sim::TraceWindow WindowOf(const sim::RunRecord& record, std::int64_t begin, std::int64_t end,
                          const std::vector<std::size_t>& cores) {
    sim::TraceWindow window;
    window.begin = begin;
    window.end = end < 0 ? window.end : end;
    window.cores.assign(record.cores.size(), false);
    for (const std::size_t core : cores) {
        window.cores.at(core) = true;
    }
    return window;
}

Record Held(const sim::KeptRecord& kept) {
    Record record = kept.Get();
    if (record == nullptr) {
        throw std::runtime_error("the record has been released");
    }
    return record;
}

py::dict Describe(const sim::KeptRecord& kept) {
    const Record record = Held(kept);
    py::dict result;
    result["kernel"] = record->kernel;
    result["soc"] = record->soc;
    result["costs"] = record->costs;
    result["clock_hz"] = record->clock_hz;
    result["cycles"] = record->timeline.cycles;
    result["bytes"] = record->bytes();
    py::list cores;
    for (const sim::RecordedCore& core : record->cores) {
        cores.append(py::make_tuple(core.name, core.block, core.cube));
    }
    result["cores"] = cores;
    return result;
}

// Python's lock is held while a piece is handed over, not while it is written.
py::tuple Write(const sim::KeptRecord& kept, const py::function& sink, std::int64_t begin, std::int64_t end,
                const std::vector<std::size_t>& cores, std::uint64_t most_events) {
    const Record record = Held(kept);
    const sim::TraceWindow window = WindowOf(*record, begin, end, cores);
    sim::TraceCount count;
    {
        const AllowThreads allow;
        count = sim::WriteTrace(*record, window, most_events, [&sink](const char* data, std::size_t size) {
            const HoldLock lock;
            sink(py::bytes(data, size));
        });
    }
    return py::make_tuple(count.events, count.left_out, count.cut, count.least);
}

py::tuple Draw(const sim::KeptRecord& kept, std::int64_t begin, std::int64_t end, const std::vector<std::size_t>& cores,
               std::int64_t resolution) {
    const Record record = Held(kept);
    sim::Picture picture;
    {
        const AllowThreads allow;
        picture = sim::Draw(*record, WindowOf(*record, begin, end, cores), resolution);
    }
    py::list bars;
    for (const sim::PictureBar& bar : picture.bars) {
        bars.append(py::make_tuple(bar.core, sim::NameOf(bar.pipe), bar.wait, bar.begin, bar.end, bar.name));
    }
    py::list arrows;
    const auto pipe_of = [&](const sim::StepRef& ref) {
        return sim::NameOf(record->streams[static_cast<std::size_t>(ref.core)].steps[ref.step].pipe);
    };
    for (const sim::TraceArrow& arrow : picture.arrows) {
        arrows.append(py::make_tuple(arrow.from.core, pipe_of(arrow.from), arrow.begin, arrow.to.core,
                                     pipe_of(arrow.to), arrow.end));
    }
    return py::make_tuple(bars, arrows);
}

py::tuple SteadyPart(const sim::KeptRecord& kept, const std::vector<std::size_t>& cores, std::size_t rounds) {
    const Record record = Held(kept);
    std::pair<std::int64_t, std::int64_t> part;
    {
        const AllowThreads allow;
        part = sim::SteadyPart(*record, WindowOf(*record, 0, -1, cores), rounds);
    }
    return py::make_tuple(part.first, part.second);
}

}  // namespace

void BindTrace(py::module_& m) {
    py::class_<sim::KeptRecord, std::shared_ptr<sim::KeptRecord>>(m, "RunRecord", "Every step of a timed launch.")
        .def_property_readonly("released", [](const sim::KeptRecord& kept) { return kept.Get() == nullptr; })
        .def("release", &sim::KeptRecord::Release, "Gives the memory back, for every report that shares it.")
        .def("describe", &Describe,
             "{'kernel', 'soc', 'costs', 'clock_hz', 'cycles', 'bytes', 'cores': [(name, block, cube)]}")
        .def("write", &Write, py::arg("sink"), py::arg("begin"), py::arg("end"), py::arg("cores"),
             py::arg("most_events"),
             "Calls sink(bytes) with the pieces of a Chrome trace. begin, end: nanoseconds, -1 = to the end; cores:\n"
             "indices. Returns (events, events left out, nanosecond of the cut or -1, 0). When so few events would\n"
             "keep none it writes nothing, and the last is how many would keep some.")
        .def("draw", &Draw, py::arg("begin"), py::arg("end"), py::arg("cores"), py::arg("resolution"),
             "([(core, pipe, wait, begin, end, name)], [(core, pipe, begin, core, pipe, end)]): bars, and arrows of\n"
             "cross-core flags. Bars that are shorter than the resolution (nanoseconds) are merged.")
        .def("steady_part", &SteadyPart, py::arg("cores"), py::arg("rounds"),
             "(begin, end) of so many rounds of these cores in the middle of the run.");
}

}  // namespace ascend_attention::python
