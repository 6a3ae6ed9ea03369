// SPDX-License-Identifier: Apache-2.0
// From an address in a library to the line of source that it was compiled from, by the library's own DWARF line table
// (versions 2 to 5, uncompressed). The machine reads it itself, so that a fault is reported with its line wherever the
// library runs, without binutils.
#pragma once

#include <cstdint>
#include <string>

namespace ascend_attention::sim {

struct SourceLine {
    std::string file;  // as the compiler was given it, without directories
    int line = 0;      // 0: unknown
};

// `address` is counted as the library counts it (program counter minus load bias). Unknown when the library cannot be
// read or says nothing about the address.
SourceLine FindSourceLine(const std::string& library, std::uint64_t address);

// The same from the contents of the two or three sections, for libraries that are read already and for tests.
struct LineSections {
    const unsigned char* line = nullptr;
    std::uint64_t line_bytes = 0;
    const unsigned char* line_strings = nullptr;
    std::uint64_t line_strings_bytes = 0;
    const unsigned char* strings = nullptr;
    std::uint64_t strings_bytes = 0;
};
SourceLine FindSourceLine(const LineSections& sections, std::uint64_t address);

}  // namespace ascend_attention::sim
