// SPDX-License-Identifier: Apache-2.0
#include "core/line_table.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/debug_forms.h"
#include "core/inline_calls.h"
#include "core/line_program.h"

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

Section* FindSection(DebugSections& sections, const std::string& name) {
    const std::pair<const char*, Section*> known[] = {
        {".debug_line", &sections.line},
        {".debug_line_str", &sections.line_strings},
        {".debug_str", &sections.strings},
        {".debug_info", &sections.info},
        {".debug_abbrev", &sections.abbreviations},
        {".debug_ranges", &sections.ranges},
        {".debug_rnglists", &sections.range_lists},
        {".debug_addr", &sections.addresses},
    };
    for (const auto& [its_name, section] : known) {
        if (name == its_name) {
            return section;
        }
    }
    return nullptr;
}

DebugSections ReadSections(const MappedFile& file) {
    DebugSections result;
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
    const Section all_names{file.At(names.sh_offset, names.sh_size), names.sh_size};
    for (std::uint64_t i = 0; i < header.e_shnum && all_names.data != nullptr; ++i) {
        Elf64_Shdr entry{};
        if (!section(i, &entry) || entry.sh_type != SHT_PROGBITS || (entry.sh_flags & SHF_COMPRESSED) != 0) {
            continue;
        }
        const unsigned char* contents = file.At(entry.sh_offset, entry.sh_size);
        Section* found = FindSection(result, all_names.From(entry.sh_name).String());
        if (contents != nullptr && found != nullptr) {
            *found = Section{contents, entry.sh_size};
        }
    }
    return result;
}

}  // namespace

std::vector<SourceLine> FindSourceLines(const std::string& library, std::uint64_t address) {
    const MappedFile file(library);
    const DebugSections sections = ReadSections(file);
    std::vector<SourceLine> lines;
    SourceLine found;
    SectionReader all = sections.line.From(0);
    while (!all.AtEnd() && lines.empty()) {
        const DebugUnit unit = NextUnit(all);
        if (!all.failed() && LineProgram(sections, unit).Find(address, &found)) {
            lines.push_back(found);
        }
    }
    if (lines.empty()) {
        return lines;
    }
    for (const InlineCall& call : FindInlineCalls(sections, address)) {
        SectionReader table = sections.line.From(call.line_unit);
        const DebugUnit unit = NextUnit(table);
        if (!table.failed() && LineProgram(sections, unit).FindFile(call.file, call.line, &found)) {
            lines.push_back(found);
        }
    }
    return lines;
}

}  // namespace ascend_attention::sim
