// SPDX-License-Identifier: Apache-2.0
// The line program of one compilation unit: DWARF 2 to 5, section .debug_line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/debug_forms.h"
#include "core/line_table.h"

namespace ascend_attention::sim {

class LineProgram {
public:
    LineProgram(const DebugSections& sections, const DebugUnit& unit)
        : sections_(sections), unit_(unit.contents), offset_bytes_(unit.offset_bytes) {}

    // False when the unit says nothing about the address. One call for each object.
    bool Find(std::uint64_t address, SourceLine* found);
    // The same for a line of one of the unit's files, by its number there.
    bool FindFile(std::uint64_t file, int line, SourceLine* found);

private:
    struct File {
        std::string path;
        std::uint64_t directory = 0;
    };
    struct Registers {
        std::uint64_t address = 0;
        std::uint64_t file = 1;
        std::int64_t line = 1;
    };

    bool ReadHeader();
    std::vector<File> ReadEntries(SectionReader& header);
    // The text of a string form; other forms are skipped.
    const char* ReadText(SectionReader& header, std::uint64_t form);
    bool Name(std::uint64_t file, int line, SourceLine* found) const;
    // Runs the program until two rows of one sequence enclose `wanted`; the first of them has the line. A line of zero
    // belongs to code that the compiler made up: the row before it is then the better answer.
    bool Run(std::uint64_t wanted, std::uint64_t* file, std::uint64_t* line);
    void Standard(std::uint8_t opcode, Registers& now);

    const DebugSections& sections_;
    SectionReader unit_;
    int offset_bytes_;
    std::uint16_t version_ = 0;
    std::uint8_t minimum_ = 1;
    std::int8_t line_base_ = 0;
    std::uint8_t line_range_ = 1;
    std::uint8_t opcode_base_ = 1;
    std::vector<std::uint8_t> operands_;
    std::vector<File> directories_;
    std::vector<File> files_;
};

}  // namespace ascend_attention::sim
