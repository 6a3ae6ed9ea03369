// SPDX-License-Identifier: Apache-2.0
#include "core/line_program.h"

#include <utility>

namespace ascend_attention::sim {

namespace {

// The numbers of the DWARF standard that a line table uses.
enum : std::uint64_t { kContentPath = 1 };
enum : std::uint64_t {
    kFormBlock2 = 0x03,
    kFormBlock4 = 0x04,
    kFormData2 = 0x05,
    kFormData4 = 0x06,
    kFormData8 = 0x07,
    kFormString = 0x08,
    kFormBlock = 0x09,
    kFormBlock1 = 0x0a,
    kFormData1 = 0x0b,
    kFormStrp = 0x0e,
    kFormUdata = 0x0f,
    kFormData16 = 0x1e,
    kFormLineStrp = 0x1f
};
enum : std::uint8_t {
    kCopy = 1,
    kAdvancePc = 2,
    kAdvanceLine = 3,
    kSetFile = 4,
    kSetColumn = 5,
    kConstAddPc = 8,
    kFixedAdvancePc = 9
};
enum : std::uint8_t { kEndSequence = 1, kSetAddress = 2 };

}  // namespace

bool LineProgram::Find(std::uint64_t address, SourceLine* found) {
    if (!ReadHeader()) {
        return false;
    }
    std::uint64_t file = 0;
    std::uint64_t line = 0;
    if (!Run(address, &file, &line) || line == 0) {
        return false;
    }
    const std::uint64_t index = version_ >= 5 ? file : file - 1;
    if (index >= files_.size()) {
        return false;
    }
    const std::string path = files_[index];
    found->file = path.substr(path.rfind('/') + 1);
    found->line = static_cast<int>(line);
    return true;
}

bool LineProgram::ReadHeader() {
    version_ = unit_.Fixed<std::uint16_t>();
    if (version_ < 2 || version_ > 5) {
        return false;
    }
    if (version_ >= 5) {
        unit_.Skip(2);  // sizes of an address and of a segment selector
    }
    SectionReader header = unit_.Part(unit_.Word(offset_bytes_));
    minimum_ = header.Fixed<std::uint8_t>();
    if (version_ >= 4) {
        header.Skip(1);  // operations per instruction: more than one only on VLIW machines
    }
    header.Skip(1);  // default_is_stmt
    line_base_ = header.Fixed<std::int8_t>();
    line_range_ = header.Fixed<std::uint8_t>();
    opcode_base_ = header.Fixed<std::uint8_t>();
    operands_.assign(1, 0);
    for (int i = 1; i < opcode_base_; ++i) {
        operands_.push_back(header.Fixed<std::uint8_t>());
    }
    if (version_ >= 5) {
        ReadEntries(header);  // directories
        files_ = ReadEntries(header);
    } else {
        while (!header.AtEnd() && *header.String() != 0) {  // directories
        }
        for (const char* name = header.String(); *name != 0; name = header.String()) {
            files_.emplace_back(name);
            header.Unsigned();
            header.Unsigned();
            header.Unsigned();
        }
    }
    return !header.failed() && !unit_.failed() && line_range_ != 0 && opcode_base_ != 0;
}

std::vector<std::string> LineProgram::ReadEntries(SectionReader& header) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> format(header.Fixed<std::uint8_t>());
    for (auto& [content, form] : format) {
        content = header.Unsigned();
        form = header.Unsigned();
    }
    std::vector<std::string> paths;
    const std::uint64_t count = header.Unsigned();
    for (std::uint64_t i = 0; i < count && !header.failed(); ++i) {
        std::string path;
        for (const auto& [content, form] : format) {
            const char* text = ReadForm(header, form);
            if (content == kContentPath) {
                path = text;
            }
        }
        paths.push_back(std::move(path));
    }
    return paths;
}

const char* LineProgram::ReadForm(SectionReader& header, std::uint64_t form) {
    switch (form) {
        case kFormString:
            return header.String();
        case kFormLineStrp:
            return StringAt(sections_.line_strings, sections_.line_strings_bytes, header.Word(offset_bytes_));
        case kFormStrp:
            return StringAt(sections_.strings, sections_.strings_bytes, header.Word(offset_bytes_));
        case kFormUdata:
            header.Unsigned();
            return "";
        case kFormBlock:
            header.Skip(header.Unsigned());
            return "";
        case kFormBlock1:
            header.Skip(header.Word(1));
            return "";
        case kFormBlock2:
            header.Skip(header.Word(2));
            return "";
        case kFormBlock4:
            header.Skip(header.Word(4));
            return "";
        case kFormData1:
            header.Skip(1);
            return "";
        case kFormData2:
            header.Skip(2);
            return "";
        case kFormData4:
            header.Skip(4);
            return "";
        case kFormData8:
            header.Skip(8);
            return "";
        case kFormData16:
            header.Skip(16);
            return "";
        default:
            header.Skip(~std::uint64_t{0});  // of unknown size: nothing behind it can be read
            return "";
    }
}

bool LineProgram::Run(std::uint64_t wanted, std::uint64_t* file, std::uint64_t* line) {
    Registers now;
    Registers last;
    bool has_last = false;
    bool dropped = false;  // the linker leaves tables of functions that it has dropped, at address zero
    const auto row = [&](bool end) {
        if (dropped) {
            return false;
        }
        if (has_last && wanted >= last.address && wanted < now.address) {
            *file = last.file;
            *line = static_cast<std::uint64_t>(last.line);
            return true;
        }
        if (has_last && now.line == 0 && !end) {
            return false;
        }
        last = now;
        has_last = !end;
        return false;
    };
    while (!unit_.AtEnd()) {
        const auto opcode = unit_.Fixed<std::uint8_t>();
        if (opcode >= opcode_base_) {
            const int adjusted = opcode - opcode_base_;
            now.address += static_cast<std::uint64_t>(adjusted / line_range_) * minimum_;
            now.line += line_base_ + adjusted % line_range_;
            if (row(false)) {
                return true;
            }
        } else if (opcode == 0) {
            SectionReader extended = unit_.Part(unit_.Unsigned());
            const auto kind = extended.Fixed<std::uint8_t>();
            if (kind == kEndSequence) {
                if (row(true)) {
                    return true;
                }
                now = Registers{};
            } else if (kind == kSetAddress) {
                now.address = extended.Fixed<std::uint64_t>();
                dropped = now.address == 0;
            }
        } else if (opcode == kCopy) {
            if (row(false)) {
                return true;
            }
        } else {
            Standard(opcode, now);
        }
    }
    return false;
}

void LineProgram::Standard(std::uint8_t opcode, Registers& now) {
    switch (opcode) {
        case kAdvancePc:
            now.address += unit_.Unsigned() * minimum_;
            break;
        case kAdvanceLine:
            now.line += unit_.Signed();
            break;
        case kSetFile:
            now.file = unit_.Unsigned();
            break;
        case kConstAddPc:
            now.address += static_cast<std::uint64_t>((255 - opcode_base_) / line_range_) * minimum_;
            break;
        case kFixedAdvancePc:
            now.address += unit_.Fixed<std::uint16_t>();
            break;
        default:
            for (int i = 0; i < operands_[opcode]; ++i) {
                unit_.Unsigned();
            }
            break;
    }
}

}  // namespace ascend_attention::sim
