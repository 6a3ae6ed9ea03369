// SPDX-License-Identifier: Apache-2.0
// What the executors of the cube instructions lend to each other and to those of data movement.
#pragma once

#include "execute_params.h"

namespace ascend_attention::python {

// Operands: dst, fm, filter[, bias].
void ExecuteMmad(const Operands& operands, const pybind11::dict& given, const sim::Site& site);
// DataCopy with DataCopyCO12DstParams. A third operand only fills the Fixpipe buffer.
void DataCopyFromL0C(const Operands& operands, Params& params, const sim::Site& site);

void RegisterFixpipeExecutors();  // csrc/python/sim_execute_fixpipe.cpp

}  // namespace ascend_attention::python
