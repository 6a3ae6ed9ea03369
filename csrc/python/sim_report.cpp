// SPDX-License-Identifier: Apache-2.0
#include "sim_report.h"

#include <array>
#include <cstdint>
#include <exception>

#include "core/findings.h"
#include "timing_report.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

py::dict CountsToDict(const std::array<std::uint64_t, sim::kPipeCount>& counts) {
    py::dict result;
    for (int pipe = 0; pipe < sim::kPipeCount; ++pipe) {
        result[NameOf(static_cast<sim::Pipe>(pipe))] = counts[pipe];
    }
    return result;
}

sim::Pipe PipeFromName(const std::string& name) {
    if (name == NameOf(sim::Pipe::kAll)) {
        return sim::Pipe::kAll;
    }
    for (int pipe = 0; pipe < sim::kPipeCount; ++pipe) {
        if (name == NameOf(static_cast<sim::Pipe>(pipe))) {
            return static_cast<sim::Pipe>(pipe);
        }
    }
    throw py::value_error("unknown pipe '" + name + "'");
}

py::list SyncCallsToList(const std::vector<sim::SyncCall>& calls) {
    py::list result;
    for (const sim::SyncCall& call : calls) {
        py::dict entry;
        entry["name"] = call.name;
        entry["core"] = call.core == sim::CoreType::kCube ? "cube" : "vector";
        entry["source"] = NameOf(call.source);
        entry["target"] = NameOf(call.target);
        entry["mode"] = call.mode;
        entry["id"] = call.id;
        entry["framework"] = call.framework;
        entry["file"] = TextToStr(call.file);
        entry["line"] = call.line;
        entry["count"] = call.count;
        result.append(entry);
    }
    return result;
}

const char* SeverityName(sim::Severity severity) {
    switch (severity) {
        case sim::Severity::kError:
            return "error";
        case sim::Severity::kUndocumentedOrder:
            return "undocumented order";
        default:
            return "warning";
    }
}

template <typename T>
void Get(const py::dict& values, const char* key, T& target) {
    if (values.contains(key)) {
        target = py::cast<T>(values[key]);
    }
}

template <typename E>
void GetEnum(const py::dict& values, const char* key, E& target) {
    if (values.contains(key)) {
        target = static_cast<E>(py::cast<int>(values[key]));
    }
}

// Held for the life of the process, as pybind11's own exceptions are.
PyObject* simulator_error = nullptr;

void Raise(const sim::SimulatorFailure& failure) {
    const py::object type = py::reinterpret_borrow<py::object>(simulator_error);
    py::object error = type(TextToStr(failure.what()));
    py::list launches;
    launches.append(ReportToDict(failure.report()));
    const py::object report = py::module_::import("ascend_attention._report").attr("from_dicts")(launches);
    error.attr("findings") = report.attr("findings");
    error.attr("report") = report;
    PyErr_SetObject(simulator_error, error.ptr());
}

}  // namespace

sim::CoreType CoreTypeFromName(const std::string& name) {
    if (name != "cube" && name != "vector") {
        throw py::value_error("core is '" + name + "', allowed: cube, vector");
    }
    return name == "cube" ? sim::CoreType::kCube : sim::CoreType::kVector;
}

const char* NameOf(sim::Mode mode) {
    switch (mode) {
        case sim::Mode::kFast:
            return "fast";
        case sim::Mode::kChecked:
            return "checked";
        default:
            return "timed";
    }
}

sim::Mode ModeFromName(const std::string& name) {
    if (name == "fast") {
        return sim::Mode::kFast;
    }
    if (name == "checked") {
        return sim::Mode::kChecked;
    }
    if (name == "timed") {
        return sim::Mode::kTimed;
    }
    throw py::value_error("mode is '" + name + "', allowed: fast, checked, timed");
}

sim::CostSource CostsFromName(const std::string& name) {
    if (name == "measured") {
        return sim::CostSource::kMeasured;
    }
    if (name == "documented") {
        return sim::CostSource::kDocumented;
    }
    throw py::value_error("costs is '" + name + "', allowed: measured, documented");
}

const char* NameOf(sim::CostSource costs) { return costs == sim::CostSource::kMeasured ? "measured" : "documented"; }

py::dict ReportToDict(const sim::RunReport& report) {
    py::dict result;
    result["kernel"] = TextToStr(report.kernel);
    result["soc"] = report.soc;
    result["mode"] = NameOf(report.mode);
    result["blocks"] = report.blocks;
    result["seconds"] = report.seconds;
    result["instructions"] = CountsToDict(report.instructions);
    result["global_bytes_read"] = report.global_bytes_read;
    result["global_bytes_written"] = report.global_bytes_written;
    py::list cores;
    for (const sim::CoreReport& core : report.cores) {
        py::dict entry;
        entry["core"] = core.core;
        entry["instructions"] = CountsToDict(core.instructions);
        cores.append(entry);
    }
    result["cores"] = cores;
    result["printed"] = TextToStr(report.printed);
    py::list findings;
    for (const sim::Finding& finding : report.findings) {
        py::dict entry;
        entry["severity"] = SeverityName(finding.severity);
        entry["kind"] = finding.kind;
        entry["text"] = TextToStr(finding.text);
        findings.append(entry);
    }
    result["findings"] = findings;
    if (report.timing != nullptr) {
        result["timing"] = TimingToDict(*report.timing);
        result["record"] = report.timing->record;
    }
    if (!report.sync_calls.empty()) {
        result["sync_calls"] = SyncCallsToList(report.sync_calls);
    }
    return result;
}

py::str TextToStr(const std::string& text) {
    PyObject* const decoded =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
    if (decoded == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::str>(decoded);
}

std::vector<sim::SyncCall> SyncCallsFromList(const py::list& calls) {
    std::vector<sim::SyncCall> result;
    for (const py::handle item : calls) {
        const auto entry = py::cast<py::dict>(item);
        sim::SyncCall call;
        call.name = py::cast<std::string>(entry["name"]);
        call.core = CoreTypeFromName(py::cast<std::string>(entry["core"]));
        call.source = PipeFromName(py::cast<std::string>(entry["source"]));
        call.target = PipeFromName(py::cast<std::string>(entry["target"]));
        call.mode = py::cast<int>(entry["mode"]);
        call.id = py::cast<int>(entry["id"]);
        call.framework = py::cast<bool>(entry["framework"]);
        call.file = py::cast<std::string>(entry["file"]);
        call.line = py::cast<int>(entry["line"]);
        result.push_back(std::move(call));
    }
    return result;
}

void StateFromDict(const py::dict& values, sim::MachineState& state) {
    Get(values, "counter_mode", state.mask.counter_mode);
    Get(values, "mask_specified", state.mask.specified);
    if (values.contains("mask")) {
        const auto mask = py::cast<py::sequence>(values["mask"]);
        state.mask.mask = {py::cast<std::uint64_t>(mask[0]), py::cast<std::uint64_t>(mask[1])};
    }
    GetEnum(values, "atomic_mode", state.atomic.mode);
    GetEnum(values, "atomic_dtype", state.atomic.dtype);
    Get(values, "nd_count", state.fixpipe.nd_count);
    Get(values, "source_nd_stride", state.fixpipe.source_nd_stride);
    Get(values, "target_nd_stride", state.fixpipe.target_nd_stride);
    Get(values, "quant_scalar", state.fixpipe.quant_scalar);
    Get(values, "quant_vector_address", state.fixpipe.quant_vector_address);
    Get(values, "deq_scale", state.deq_scale);
    Get(values, "padding_value", state.padding_value);
}

py::dict StateToDict(const sim::MachineState& state) {
    py::dict result;
    result["counter_mode"] = state.mask.counter_mode;
    result["mask_specified"] = state.mask.specified;
    result["mask"] = py::make_tuple(state.mask.mask[0], state.mask.mask[1]);
    result["atomic_mode"] = static_cast<int>(state.atomic.mode);
    result["atomic_dtype"] = static_cast<int>(state.atomic.dtype);
    result["nd_count"] = state.fixpipe.nd_count;
    result["source_nd_stride"] = state.fixpipe.source_nd_stride;
    result["target_nd_stride"] = state.fixpipe.target_nd_stride;
    result["quant_scalar"] = state.fixpipe.quant_scalar;
    result["quant_vector_address"] = state.fixpipe.quant_vector_address;
    result["deq_scale"] = state.deq_scale;
    result["padding_value"] = state.padding_value;
    result["gathered_count"] = state.gathered_count;
    for (const auto& [name, reduction] : {std::pair{"extreme", &state.extreme}, std::pair{"sum", &state.sum}}) {
        result[name] = py::make_tuple(reduction->specified, reduction->value, reduction->index);
    }
    return result;
}

void RegisterSimulatorError(py::module_& m) {
    if (simulator_error == nullptr) {
        simulator_error = PyErr_NewExceptionWithDoc(
            "ascend_attention.SimulatorError",
            "The simulated kernel did something the device would not survive, or, in checked mode, something whose\n"
            "result depends on timing. `findings` has all that the machine objected to, `report` (a Report) what\n"
            "the launch had done by then.",
            PyExc_RuntimeError, nullptr);
    }
    m.attr("SimulatorError") = py::reinterpret_borrow<py::object>(simulator_error);
    py::register_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) {
                std::rethrow_exception(pointer);
            }
        } catch (const sim::SimulatorFailure& failure) {
            Raise(failure);
        }
    });
}

}  // namespace ascend_attention::python
