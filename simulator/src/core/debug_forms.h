// SPDX-License-Identifier: Apache-2.0
// How DWARF 2 to 5 write values, and the sections in which they stand.
#pragma once

#include <cstdint>

#include "core/section_reader.h"

namespace ascend_attention::sim {

struct Section {
    const unsigned char* data = nullptr;
    std::uint64_t bytes = 0;

    // From `offset` to the end; nothing when the section is absent or shorter.
    SectionReader From(std::uint64_t offset) const {
        return offset < bytes ? SectionReader(data + offset, bytes - offset) : SectionReader(data, 0);
    }
};

struct DebugSections {
    Section line;           // .debug_line
    Section line_strings;   // .debug_line_str
    Section strings;        // .debug_str
    Section info;           // .debug_info
    Section abbreviations;  // .debug_abbrev
    Section ranges;         // .debug_ranges, of versions before 5
    Section range_lists;    // .debug_rnglists
    Section addresses;      // .debug_addr
};

enum : std::uint64_t {
    kFormAddress = 0x01,
    kFormBlock2 = 0x03,
    kFormBlock4 = 0x04,
    kFormData2 = 0x05,
    kFormData4 = 0x06,
    kFormData8 = 0x07,
    kFormString = 0x08,
    kFormBlock = 0x09,
    kFormBlock1 = 0x0a,
    kFormData1 = 0x0b,
    kFormFlag = 0x0c,
    kFormSdata = 0x0d,
    kFormStrp = 0x0e,
    kFormUdata = 0x0f,
    kFormRefAddress = 0x10,
    kFormRef1 = 0x11,
    kFormRef2 = 0x12,
    kFormRef4 = 0x13,
    kFormRef8 = 0x14,
    kFormRefUdata = 0x15,
    kFormIndirect = 0x16,
    kFormSectionOffset = 0x17,
    kFormExpression = 0x18,
    kFormFlagPresent = 0x19,
    kFormStrx = 0x1a,
    kFormAddrx = 0x1b,
    kFormRefSup4 = 0x1c,
    kFormStrpSup = 0x1d,
    kFormData16 = 0x1e,
    kFormLineStrp = 0x1f,
    kFormRefSig8 = 0x20,
    kFormImplicitConst = 0x21,
    kFormLoclistx = 0x22,
    kFormRnglistx = 0x23,
    kFormRefSup8 = 0x24,
    kFormStrx1 = 0x25,
    kFormStrx4 = 0x28,
    kFormAddrx1 = 0x29,
    kFormAddrx4 = 0x2c,
};

// The number that stands at `reader` in this form: a value, an offset or an index. Blocks and strings are passed over
// and are 0. A form of unknown size ends the reading.
std::uint64_t ReadForm(SectionReader& reader, std::uint64_t form, int offset_bytes);

// The next unit of .debug_line or .debug_info, without its length. Both begin alike.
struct DebugUnit {
    SectionReader contents;
    int offset_bytes;  // 8 in the 64-bit format
};
DebugUnit NextUnit(SectionReader& section);

}  // namespace ascend_attention::sim
