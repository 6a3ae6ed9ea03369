// SPDX-License-Identifier: Apache-2.0
#include "core/line_table.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

namespace ascend_attention::sim {

namespace {

// Reads forward in a section. What lies behind its end reads as zero and sets `failed`: a damaged table ends a search,
// never the process.
class Reader {
public:
    Reader(const unsigned char* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}

    bool failed() const { return failed_; }
    std::uint64_t position() const { return position_; }
    bool AtEnd() const { return failed_ || position_ >= bytes_; }

    // A reader of the next `bytes` alone, which this one skips.
    Reader Part(std::uint64_t bytes) {
        if (bytes > bytes_ - position_) {
            failed_ = true;
            return Reader(data_, 0);
        }
        const Reader part(data_ + position_, bytes);
        position_ += bytes;
        return part;
    }

    void Skip(std::uint64_t bytes) { Part(bytes); }

    template <typename T>
    T Fixed() {
        T value{};
        if (sizeof(T) > bytes_ - position_) {
            failed_ = true;
            return value;
        }
        std::memcpy(&value, data_ + position_, sizeof(T));
        position_ += sizeof(T);
        return value;
    }

    std::uint64_t Word(int bytes) {
        switch (bytes) {
            case 1:
                return Fixed<std::uint8_t>();
            case 2:
                return Fixed<std::uint16_t>();
            case 4:
                return Fixed<std::uint32_t>();
            default:
                return Fixed<std::uint64_t>();
        }
    }

    std::uint64_t Unsigned() {  // LEB128
        std::uint64_t value = 0;
        for (int shift = 0;; shift += 7) {
            const auto byte = Fixed<std::uint8_t>();
            value |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7FU) << shift : 0;
            if ((byte & 0x80U) == 0) {
                return value;
            }
        }
    }

    std::int64_t Signed() {
        std::uint64_t value = 0;
        int shift = 0;
        std::uint8_t byte = 0;
        do {
            byte = Fixed<std::uint8_t>();
            value |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7FU) << shift : 0;
            shift += 7;
        } while ((byte & 0x80U) != 0);
        if (shift < 64 && (byte & 0x40U) != 0) {
            value |= ~std::uint64_t{0} << shift;
        }
        return static_cast<std::int64_t>(value);
    }

    const char* String() {
        const void* end = position_ < bytes_ ? std::memchr(data_ + position_, 0, bytes_ - position_) : nullptr;
        if (end == nullptr) {
            failed_ = true;
            return "";
        }
        const char* text = reinterpret_cast<const char*>(data_ + position_);
        position_ = static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - data_) + 1;
        return text;
    }

private:
    const unsigned char* data_;
    std::uint64_t bytes_;
    std::uint64_t position_ = 0;
    bool failed_ = false;
};

const char* StringAt(const unsigned char* section, std::uint64_t bytes, std::uint64_t offset) {
    if (section == nullptr || offset >= bytes) {
        return "";
    }
    Reader reader(section + offset, bytes - offset);
    return reader.String();
}

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

// The line program of one compilation unit.
class LineProgram {
public:
    LineProgram(const LineSections& sections, Reader unit, int offset_bytes)
        : sections_(sections), unit_(unit), offset_bytes_(offset_bytes) {}

    // False when the unit says nothing about the address.
    bool Find(std::uint64_t address, SourceLine* found) {
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

private:
    bool ReadHeader() {
        version_ = unit_.Fixed<std::uint16_t>();
        if (version_ < 2 || version_ > 5) {
            return false;
        }
        if (version_ >= 5) {
            unit_.Skip(2);  // sizes of an address and of a segment selector
        }
        Reader header = unit_.Part(unit_.Word(offset_bytes_));
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

    std::vector<std::string> ReadEntries(Reader& header) {
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

    // The text of a string form; other forms are skipped.
    const char* ReadForm(Reader& header, std::uint64_t form) {
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

    struct Registers {
        std::uint64_t address = 0;
        std::uint64_t file = 1;
        std::int64_t line = 1;
    };

    // Runs the program until two rows of one sequence enclose `wanted`; the first of them has the line. A line of zero
    // belongs to code that the compiler made up: the row before it is then the better answer.
    bool Run(std::uint64_t wanted, std::uint64_t* file, std::uint64_t* line) {
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
                Reader extended = unit_.Part(unit_.Unsigned());
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

    void Standard(std::uint8_t opcode, Registers& now) {
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

    const LineSections& sections_;
    Reader unit_;
    int offset_bytes_;
    std::uint16_t version_ = 0;
    std::uint8_t minimum_ = 1;
    std::int8_t line_base_ = 0;
    std::uint8_t line_range_ = 1;
    std::uint8_t opcode_base_ = 1;
    std::vector<std::uint8_t> operands_;
    std::vector<std::string> files_;
};

// A file mapped for reading.
class MappedFile {
public:
    explicit MappedFile(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            return;
        }
        struct stat status{};
        if (fstat(file, &status) == 0 && status.st_size > 0) {
            void* memory = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (memory != MAP_FAILED) {
                data_ = static_cast<const unsigned char*>(memory);
                bytes_ = static_cast<std::uint64_t>(status.st_size);
            }
        }
        close(file);
    }
    ~MappedFile() {
        if (data_ != nullptr) {
            munmap(const_cast<unsigned char*>(data_), bytes_);
        }
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    // A copy of what lies at `offset`, or null where the file ends before.
    template <typename T>
    bool Read(std::uint64_t offset, T* value) const {
        if (offset > bytes_ || bytes_ - offset < sizeof(T)) {
            return false;
        }
        std::memcpy(value, data_ + offset, sizeof(T));
        return true;
    }
    const unsigned char* At(std::uint64_t offset, std::uint64_t bytes) const {
        return offset <= bytes_ && bytes <= bytes_ - offset ? data_ + offset : nullptr;
    }

private:
    const unsigned char* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

LineSections ReadSections(const MappedFile& file) {
    LineSections result;
    Elf64_Ehdr header{};
    if (!file.Read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) {
        return result;
    }
    const auto section = [&](std::uint64_t index, Elf64_Shdr* into) {
        return file.Read(header.e_shoff + index * sizeof(Elf64_Shdr), into);
    };
    Elf64_Shdr names{};
    if (!section(header.e_shstrndx, &names)) {
        return result;
    }
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr entry{};
        if (!section(i, &entry) || entry.sh_type != SHT_PROGBITS || (entry.sh_flags & SHF_COMPRESSED) != 0) {
            continue;
        }
        const unsigned char* contents = file.At(entry.sh_offset, entry.sh_size);
        const unsigned char* all_names = file.At(names.sh_offset, names.sh_size);
        if (contents == nullptr || all_names == nullptr) {
            continue;
        }
        const std::string name = StringAt(all_names, names.sh_size, entry.sh_name);
        if (name == ".debug_line") {
            result.line = contents;
            result.line_bytes = entry.sh_size;
        } else if (name == ".debug_line_str") {
            result.line_strings = contents;
            result.line_strings_bytes = entry.sh_size;
        } else if (name == ".debug_str") {
            result.strings = contents;
            result.strings_bytes = entry.sh_size;
        }
    }
    return result;
}

}  // namespace

SourceLine FindSourceLine(const LineSections& sections, std::uint64_t address) {
    SourceLine found;
    Reader all(sections.line, sections.line == nullptr ? 0 : sections.line_bytes);
    while (!all.AtEnd()) {
        std::uint64_t bytes = all.Fixed<std::uint32_t>();
        const bool wide = bytes == 0xFFFFFFFFU;
        if (wide) {
            bytes = all.Fixed<std::uint64_t>();
        }
        const Reader unit = all.Part(bytes);
        if (!all.failed() && LineProgram(sections, unit, wide ? 8 : 4).Find(address, &found)) {
            break;
        }
    }
    return found;
}

SourceLine FindSourceLine(const std::string& library, std::uint64_t address) {
    const MappedFile file(library);
    return FindSourceLine(ReadSections(file), address);
}

}  // namespace ascend_attention::sim
