// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace ascend_attention::python {

// Adds the submodule `sim` and the exception `SimulatorError` to `m`.
void BindSim(pybind11::module_& m);
// Adds `RunRecord`, which the reports of timed launches hold.
void BindTrace(pybind11::module_& m);

}  // namespace ascend_attention::python
