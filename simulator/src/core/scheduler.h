// SPDX-License-Identifier: Apache-2.0
// Runs the cores of a machine: each core is a fiber, each host thread owns whole blocks and rotates their fibers.
#pragma once

#include <functional>

#include "core/machine.h"

namespace ascend_attention::sim {

struct RunOptions {
    const Kernel* kernel;
    int threads;
    double stall_seconds;  // infinite: a core that issues nothing may run for ever
};

// `program` is the kernel as one core runs it. Returns when every core has ended; findings are in the machine's log.
void RunCores(Machine& machine, const RunOptions& options, const std::function<void(Core&)>& program);

// Runs `program` on `core` up to its end of kernel, on the current stack. Never throws.
void RunProgram(Core& core, const std::function<void(Core&)>& program);

}  // namespace ascend_attention::sim
