// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace ascend_attention::python {

// The exceptions' translation: Refusal becomes ascend_attention.AttentionError or AttentionNotSupported.
void BindRefusals(pybind11::module_& m);
// Settings of the current call, read from a context variable, and the reports they collect.
void BindSettings(pybind11::module_& m);
// The operators, on tensors described as (address, dtype, shape, contiguous).
void BindOperators(pybind11::module_& m);

}  // namespace ascend_attention::python
