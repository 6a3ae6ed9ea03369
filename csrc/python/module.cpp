// SPDX-License-Identifier: Apache-2.0
// `ascend_attention._core`: everything that Python needs of the compiled parts, without torch.
#include <pybind11/pybind11.h>

#include "door_bindings.h"
#include "sim_bindings.h"

PYBIND11_MODULE(_core, m) {
    m.doc() = "Compiled parts of ascend_attention (private: use the package's functions).";
    ascend_attention::python::BindRefusals(m);
    ascend_attention::python::BindSettings(m);
    ascend_attention::python::BindOperators(m);
    ascend_attention::python::BindTrace(m);
    ascend_attention::python::BindSim(m);
}
