// SPDX-License-Identifier: Apache-2.0
// `_core.sim.execute`: run one instruction on a core of its own, so that a test can compare it with NumPy. Each
// instruction family registers its names; the machinery around them (memories, poison, findings) is shared.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <string>
#include <vector>

#include "core/access.h"
#include "machine/call.h"

namespace ascend_attention::python {

// Issues the call named by the test on the current core. `operands` are in the order of the call's documentation
// (destination first); `params` holds the call's own parameter names.
using Executor =
    std::function<void(const std::vector<sim::Operand>& operands, const pybind11::dict& params, const sim::Site& site)>;

void RegisterExecutor(const std::string& name, Executor executor);

void RegisterVectorExecutors();  // csrc/python/sim_execute_vector.cpp
void RegisterMoveExecutors();    // csrc/python/sim_execute_move.cpp
void RegisterCubeExecutors();    // csrc/python/sim_execute_cube.cpp

}  // namespace ascend_attention::python
