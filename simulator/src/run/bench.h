// SPDX-License-Identifier: Apache-2.0
// One core on its own, for tests of single instructions: place bytes, run, look.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/core.h"
#include "core/machine.h"
#include "run/launch.h"

namespace ascend_attention::sim {

class ASCEND_SIM_API Bench {
public:
    Bench(CoreType type, Mode mode, const std::vector<GlobalBuffer>& buffers);
    ~Bench();

    Core& core();

    // Copies bytes into an on-chip memory and marks those with a nonzero `defined` byte (all when null) as
    // initialised.
    void Place(Space space, std::uint64_t address, const void* data, std::uint64_t bytes, const std::uint8_t* defined);
    // One byte per byte of memory: 1 where it is defined. Fast mode knows no undefined bytes.
    std::vector<std::uint8_t> Defined(Space space, std::uint64_t address, std::uint64_t bytes);
    void PlaceGlobalDefined(std::uint64_t address, const std::uint8_t* defined, std::uint64_t bytes);

    // Runs `body` as the core's program. Throws SimulatorFailure when it ended with an error finding.
    RunReport Run(const std::function<void()>& body);

private:
    void MarkDefined(const Operand& operand, const std::uint8_t* defined, std::uint64_t bytes);

    CoreType type_;
    std::unique_ptr<Machine> machine_;
};

}  // namespace ascend_attention::sim
