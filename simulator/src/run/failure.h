// SPDX-License-Identifier: Apache-2.0
// From collected findings to a report or a SimulatorFailure.
#pragma once

#include "core/machine.h"
#include "run/launch.h"

namespace ascend_attention::sim {

// Takes the findings of the run: returns the report when there are only warnings, else throws SimulatorFailure.
RunReport FinishReport(Machine& machine, double seconds);

}  // namespace ascend_attention::sim
