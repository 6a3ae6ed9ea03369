// SPDX-License-Identifier: Apache-2.0
#include "core/line_program.h"

#include <cctype>
#include <utility>

namespace ascend_attention::sim {

namespace {

// The numbers of the DWARF standard that a line table uses.
enum : std::uint64_t { kContentPath = 1, kContentDirectory = 2 };
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

// ".../include/c++/12/bits/stl_vector.h", or ".../c++/v1/vector".
bool IsOfStandardLibrary(const std::string& path) {
    const std::string mark = "/c++/";
    const std::size_t at = path.find(mark);
    return at != std::string::npos && (std::isdigit(static_cast<unsigned char>(path[at + mark.size()])) != 0 ||
                                       path.compare(at + mark.size(), 3, "v1/") == 0);
}

}  // namespace

bool LineProgram::Find(std::uint64_t address, SourceLine* found) {
    if (!ReadHeader()) {
        return false;
    }
    std::uint64_t file = 0;
    std::uint64_t line = 0;
    return Run(address, &file, &line) && line != 0 && Name(file, static_cast<int>(line), found);
}

bool LineProgram::FindFile(std::uint64_t file, int line, SourceLine* found) {
    return ReadHeader() && line != 0 && Name(file, line, found);
}

bool LineProgram::Name(std::uint64_t file, int line, SourceLine* found) const {
    const std::uint64_t index = version_ >= 5 ? file : file - 1;
    if (index >= files_.size()) {
        return false;
    }
    const File& entry = files_[index];
    const std::uint64_t above = version_ >= 5 ? entry.directory : entry.directory - 1;
    const std::string directory = above < directories_.size() ? directories_[above].path : "";
    found->file = entry.path.substr(entry.path.rfind('/') + 1);
    found->line = line;
    found->of_standard_library = IsOfStandardLibrary(directory + "/" + entry.path);
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
        directories_ = ReadEntries(header);
        files_ = ReadEntries(header);
    } else {
        for (const char* name = header.String(); *name != 0; name = header.String()) {
            directories_.push_back({name, 0});
        }
        for (const char* name = header.String(); *name != 0; name = header.String()) {
            files_.push_back({name, header.Unsigned()});
            header.Unsigned();
            header.Unsigned();
        }
    }
    return !header.failed() && !unit_.failed() && line_range_ != 0 && opcode_base_ != 0;
}

std::vector<LineProgram::File> LineProgram::ReadEntries(SectionReader& header) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> format(header.Fixed<std::uint8_t>());
    for (auto& [content, form] : format) {
        content = header.Unsigned();
        form = header.Unsigned();
    }
    std::vector<File> files;
    const std::uint64_t count = header.Unsigned();
    for (std::uint64_t i = 0; i < count && !header.failed(); ++i) {
        File file;
        for (const auto& [content, form] : format) {
            if (content == kContentPath) {
                file.path = ReadText(header, form);
            } else {
                const std::uint64_t number = ReadForm(header, form, offset_bytes_);
                file.directory = content == kContentDirectory ? number : file.directory;
            }
        }
        files.push_back(std::move(file));
    }
    return files;
}

const char* LineProgram::ReadText(SectionReader& header, std::uint64_t form) {
    if (form == kFormString) {
        return header.String();
    }
    const std::uint64_t offset = ReadForm(header, form, offset_bytes_);
    const Section& section = form == kFormLineStrp ? sections_.line_strings : sections_.strings;
    return form == kFormLineStrp || form == kFormStrp ? section.From(offset).String() : "";
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
