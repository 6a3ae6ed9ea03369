// SPDX-License-Identifier: Apache-2.0
// Which addresses are code of the kernel, and which are the machine's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/machine.h"

namespace ascend_attention::sim {

// Addresses of one loaded library. `bias` is what its own symbols and line tables count from.
struct LoadedCode {
    std::string path;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t bias = 0;

    bool Holds(std::uint64_t pc) const { return pc >= begin && pc < end; }
};

// The library an address belongs to; an empty range when it is in none.
LoadedCode CodeAround(const void* address);

// The code of one launch: the libraries of the kernel's entries, and the machine's own.
struct LaunchCode {
    std::vector<LoadedCode> device;
    LoadedCode machine;

    explicit LaunchCode(const Kernel& kernel);
    const LoadedCode* Device(std::uint64_t pc) const;
};

}  // namespace ascend_attention::sim
