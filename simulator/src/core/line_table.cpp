// SPDX-License-Identifier: Apache-2.0
#include "core/line_table.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "core/line_program.h"
#include "core/section_reader.h"

namespace ascend_attention::sim {

namespace {

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
    SectionReader all(sections.line, sections.line == nullptr ? 0 : sections.line_bytes);
    while (!all.AtEnd()) {
        std::uint64_t bytes = all.Fixed<std::uint32_t>();
        const bool wide = bytes == 0xFFFFFFFFU;
        if (wide) {
            bytes = all.Fixed<std::uint64_t>();
        }
        const SectionReader unit = all.Part(bytes);
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
