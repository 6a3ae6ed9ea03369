// SPDX-License-Identifier: Apache-2.0
// What timed mode predicts, as Python dicts.
#pragma once

#include <pybind11/pybind11.h>

#include "timing/result.h"

namespace ascend_attention::python {

// The arguments of ascend_attention._timing.from_dict.
pybind11::dict TimingToDict(const sim::TimingResult& timing);

}  // namespace ascend_attention::python
