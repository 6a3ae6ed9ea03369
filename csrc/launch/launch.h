// SPDX-License-Identifier: Apache-2.0
// Running a prepared plan on buffers: one interface, one implementation per way to run (sim/: the simulated machine).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/planner.h"

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

// A paged cache. Where the host can read the table, the ids that the kernel will use are checked before it runs.
struct PagedCache {
    const std::int32_t* block_table = nullptr;  // null: keys are not paged
    std::int64_t columns = 0;
    std::int64_t blocks = 0;  // in the cache
};

struct Job {
    const char* op = "";         // the operator that was called
    const Plan* plan = nullptr;  // which kernel, on how many AI cores
    std::vector<Argument> arguments;
    std::vector<Argument> listed;  // inputs that the kernel finds through a list of addresses
    PagedCache cache;
};

// Blocks until the kernel has finished. Thread-safe. Input buffers may overlap each other, nothing else may.
void Run(const Job& job, const RunSettings& settings);

}  // namespace ascend_attention::launch
