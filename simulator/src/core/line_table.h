// SPDX-License-Identifier: Apache-2.0
// From an address in a library to the lines of source that it was compiled from, by the library's own debug information
// (DWARF 2 to 5, uncompressed). The machine reads it itself, so that a fault is reported with its line wherever the
// library runs, without binutils.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ascend_attention::sim {

struct SourceLine {
    std::string file;  // as the compiler was given it, without directories
    int line = 0;      // 0: unknown
    bool of_standard_library = false;
};

// The line of `address` and, where that is in inlined bodies, the lines of the calls that they stand for, innermost
// first. `address` is counted as the library counts it (program counter minus load bias). Empty when the library cannot
// be read or says nothing about the address.
std::vector<SourceLine> FindSourceLines(const std::string& library, std::uint64_t address);

}  // namespace ascend_attention::sim
