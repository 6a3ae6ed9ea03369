// SPDX-License-Identifier: Apache-2.0
// Running a prepared plan on buffers: one interface, one implementation per way to run (sim/: the simulated machine).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ascend_attention::launch {

struct RunSettings;  // defined by the implementation: which machine, how strictly, where reports go

enum class Access : std::uint8_t {
    kInput,   // read only
    kOutput,  // written by the kernel, read by the caller afterwards
    kScratch  // written and read by the kernel, worthless afterwards
};

// One kernel argument: a buffer, or nothing (`data` null: the kernel is given 0).
struct Argument {
    std::string name;
    void* data = nullptr;
    std::uint64_t bytes = 0;
    Access access = Access::kInput;
};

struct Job {
    std::string kernel;
    std::uint32_t blocks = 0;  // AI cores
    std::vector<Argument> arguments;
};

// Blocks until the kernel has finished. Thread-safe. Input buffers may overlap each other, nothing else may.
void Run(const Job& job, const RunSettings& settings);

}  // namespace ascend_attention::launch
