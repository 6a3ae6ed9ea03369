// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "door_bindings.h"
#include "doors/call_settings.h"
#include "doors/refusal.h"
#include "interpreter_lock.h"
#include "sim_report.h"

namespace py = pybind11;

namespace ascend_attention::python {
namespace {

using doors::CallSettings;

// The context variable, held for the life of the process: a thread may still run a kernel while Python shuts down.
PyObject* context_variable = nullptr;

// One `with` block: the context variable's value. Blocks may be left out of order, and by another thread or task than
// the one that entered (an abandoned generator); one that has been left no longer counts, wherever it is still set.
class Scope {
public:
    Scope(CallSettings settings, std::shared_ptr<Scope> outer)
        : settings_(std::move(settings)), outer_(std::move(outer)) {}

    const CallSettings& settings() const { return settings_; }
    void Leave() { left_ = true; }
    // The innermost of `scope` and the blocks around it that has not been left; null when there is none.
    static std::shared_ptr<Scope> InForce(std::shared_ptr<Scope> scope) {
        while (scope != nullptr && scope->left_) {
            scope = scope->outer_;
        }
        return scope;
    }

private:
    CallSettings settings_;
    std::shared_ptr<Scope> outer_;
    bool left_ = false;  // guarded by Python's lock
};

// What the calling thread and task set; called with or without Python's lock.
bool ReadContext(CallSettings* settings) {
    if (Py_IsInitialized() == 0) {
        return false;
    }
    const HoldLock lock;
    PyObject* value = nullptr;
    if (PyContextVar_Get(context_variable, nullptr, &value) < 0) {
        throw py::error_already_set();
    }
    const auto held = py::reinterpret_steal<py::object>(value);
    if (value == nullptr || held.is_none()) {  // nearly always, and a cast of None takes a microsecond
        return false;
    }
    const auto scope = Scope::InForce(py::cast<std::shared_ptr<Scope>>(held));
    if (scope == nullptr) {
        return false;
    }
    *settings = scope->settings();
    return true;
}

// What a block that names the machine, the contract or neither builds on: the block around it, else the environment.
CallSettings SettingsAround(const std::shared_ptr<Scope>& scope, bool machine, bool contract) {
    if (scope != nullptr) {
        return scope->settings();
    }
    CallSettings settings;
    if (machine) {
        doors::ReadMachineFromEnvironment(&settings);
    }
    if (contract) {
        doors::ReadContractFromEnvironment(&settings);
    }
    return settings;
}

CallSettings WithSimulator(const CallSettings& settings, const std::string& soc, const std::string& mode,
                           const std::string& costs, const std::string& owner) {
    CallSettings result = settings;
    doors::CheckSoc({owner, "soc"}, soc);
    result.run.soc = soc;
    result.run.mode = doors::ModeFromName({owner, "mode"}, mode);
    result.run.costs = doors::CostsFromName({owner, "costs"}, costs);
    result.run.log = std::make_shared<launch::ReportLog>();
    result.run.cores = 0;
    result.run.record_sync = false;
    result.run.ignored.clear();
    return result;
}

CallSettings WithCores(const CallSettings& settings, int cores) {
    CallSettings result = settings;
    result.run.cores = cores;
    return result;
}

CallSettings WithInstructionLimit(const CallSettings& settings, std::uint64_t limit) {
    CallSettings result = settings;
    result.run.instruction_limit = limit;
    return result;
}

CallSettings WithSync(const CallSettings& settings, bool record, const py::list& ignored) {
    CallSettings result = settings;
    result.run.record_sync = record;
    result.run.ignored = SyncCallsFromList(ignored);
    return result;
}

CallSettings WithContract(const CallSettings& settings, const std::string& name) {
    CallSettings result = settings;
    result.contract = doors::ContractFromName({"contract", "name"}, name);
    return result;
}

py::list Reports(const CallSettings& settings) {
    py::list reports;
    if (settings.run.log != nullptr) {
        for (const sim::RunReport& report : settings.run.log->Reports()) {
            reports.append(ReportToDict(report));
        }
    }
    return reports;
}

void RaiseRefusal(const doors::Refusal& refusal) {
    const Status& status = refusal.status();
    const py::object make = py::module_::import("ascend_attention._errors").attr("from_status");
    const py::object error =
        make(py::str(refusal.what()), static_cast<int>(status.code), py::str(status.op), py::str(status.argument),
             py::str(status.rule), py::str(status.given), py::str(status.allowed), py::str(status.help));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

void BindRefusals(py::module_& m) {
    py::register_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) {
                std::rethrow_exception(pointer);
            }
        } catch (const doors::Refusal& refusal) {
            RaiseRefusal(refusal);
        }
    });
    m.def(
        "refuse",
        [](int code, const std::string& op, const std::string& argument, const std::string& rule,
           const std::string& given, const std::string& allowed, const std::string& help) {
            doors::ThrowUnlessOk(Status{static_cast<StatusCode>(code), op, argument, rule, given, allowed, help});
        },
        py::arg("code"), py::arg("operator"), py::arg("argument"), py::arg("rule"), py::arg("given"),
        py::arg("allowed"), py::arg("help") = "", "Raises AttentionError, or AttentionNotSupported for code 561003.");
    m.def("rethrow_failure", &doors::RethrowFailure,
          "Raises what this thread's last torch operator call threw, if it threw; else returns.");
    m.def("forget_failure", &doors::ForgetFailure);
}

void BindSettings(py::module_& m) {
    py::class_<CallSettings>(m, "CallSettings", "What a call runs on and by which rules. Immutable.")
        .def(
            "with_simulator", &WithSimulator, py::arg("soc"), py::arg("mode"), py::arg("costs") = "measured",
            py::arg("owner") = "simulator",
            "The same settings on another simulated machine, all calls of a kernel in force, with an empty report log\n"
            "of their own. Refusals carry the owner's name.")
        .def_property_readonly("soc", [](const CallSettings& settings) { return settings.run.soc; })
        .def_property_readonly("mode", [](const CallSettings& settings) { return NameOf(settings.run.mode); })
        .def_property_readonly("costs", [](const CallSettings& settings) { return NameOf(settings.run.costs); })
        .def("with_contract", &WithContract, py::arg("contract"))
        .def("with_instruction_limit", &WithInstructionLimit, py::arg("limit"),
             "Instructions a core may execute before the run is given up; 0 = the machine's own bound.")
        .def("with_cores", &WithCores, py::arg("cores"), "Plans use at most so many AI cores; 0 = all of the SoC.")
        .def("with_sync", &WithSync, py::arg("record"), py::arg("ignored"),
             "Lists the synchronisation calls of each launch in its report, and runs without those in `ignored`.")
        .def("reports", &Reports, "One dict per launch so far, see sim_report.h.");
    m.def(
        "processors",
        [] {
            py::list rows;
            for (const doors::Processor& row : doors::Processors()) {
                rows.append(py::make_tuple(row.name, row.cores, row.product));
            }
            return rows;
        },
        "(name, AI cores, product) of each; no cores: calls are only checked for it.");
    m.def("planned_cores", &doors::PlannedCores, "AI cores per SoC, as plans are made for them.");
    py::class_<Scope, std::shared_ptr<Scope>>(m, "SettingsScope", "One `with` block: a value of the context variable.")
        .def(py::init<CallSettings, std::shared_ptr<Scope>>(), py::arg("settings"), py::arg("outer") = py::none())
        .def_property_readonly("settings", &Scope::settings)
        .def("leave", &Scope::Leave, "Ends the block for everybody who still sees it.")
        .def_static("in_force", &Scope::InForce, py::arg("scope"),
                    "The innermost of `scope` and those around it that has not been left, or None.");
    m.def("default_settings", &doors::DefaultSettings, "What the environment says.");
    m.def("settings_around", &SettingsAround, py::arg("scope"), py::arg("machine"), py::arg("contract"),
          "The settings of `scope`, or without one those that the environment gives: only these halves are read.");
    m.def(
        "read_settings_from",
        [](const py::object& variable) {
            if (PyContextVar_CheckExact(variable.ptr()) == 0) {
                throw py::type_error("read_settings_from wants a contextvars.ContextVar");
            }
            Py_XDECREF(context_variable);
            context_variable = variable.inc_ref().ptr();
            doors::SetSettingsProvider(&ReadContext);
            ParkThreadsThatPythonEnds();
        },
        py::arg("variable"), "Installs the context variable whose value is the current SettingsScope or None.");
}

}  // namespace ascend_attention::python
