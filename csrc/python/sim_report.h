// SPDX-License-Identifier: Apache-2.0
// Machine structures as Python dicts, and the exception.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "core/state.h"
#include "run/launch.h"

namespace ascend_attention::python {

// "cube" or "vector".
sim::CoreType CoreTypeFromName(const std::string& name);
sim::Mode ModeFromName(const std::string& name);
const char* NameOf(sim::Mode mode);
sim::CostSource CostsFromName(const std::string& name);
const char* NameOf(sim::CostSource costs);

// {'kernel', 'soc', 'mode', 'blocks', 'seconds', 'instructions': {pipe: n}, 'global_bytes_read',
// 'global_bytes_written',
//  'cores': [{'core', 'instructions'}], 'printed', 'findings': [{'severity', 'kind', 'text'}]}; of a timed launch also
//  'timing' (timing_report.h) and 'record' (a RunRecord); and 'sync_calls' if any were recorded:
//  [{'name', 'core', 'source', 'target', 'mode', 'id', 'framework', 'file', 'line', 'count'}]
pybind11::dict ReportToDict(const sim::RunReport& report);

// Text that may hold bytes which are not UTF-8, such as names of files and what device code prints.
pybind11::str TextToStr(const std::string& text);

// Calls to ignore, as the report lists them; 'count' may be absent.
std::vector<sim::SyncCall> SyncCallsFromList(const pybind11::list& calls);

// MaskState and friends as a flat dict; absent keys keep their value.
void StateFromDict(const pybind11::dict& values, sim::MachineState& state);
pybind11::dict StateToDict(const sim::MachineState& state);

// Creates `m.SimulatorError` (a RuntimeError with .findings and .report) and translates SimulatorFailure to it.
void RegisterSimulatorError(pybind11::module_& m);

}  // namespace ascend_attention::python
