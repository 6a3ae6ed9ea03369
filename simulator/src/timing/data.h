// SPDX-License-Identifier: Apache-2.0
// The text of simulator/timing/*.csv, put into the library by cmake/timing_data.cmake.
#pragma once

namespace ascend_attention::sim {

extern const char* const kInstructionCosts;
extern const char* const kMachineFigures;

}  // namespace ascend_attention::sim
