// SPDX-License-Identifier: Apache-2.0
#include "core/loaded_code.h"

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ascend_attention::sim {

namespace {

int VisitLibrary(dl_phdr_info* library, std::size_t, void* argument) {
    auto& search = *static_cast<std::pair<std::uint64_t, LoadedCode>*>(argument);
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    bool holds = false;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const auto& segment = library->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) {
            continue;
        }
        const std::uint64_t first = library->dlpi_addr + segment.p_vaddr;
        begin = std::min<std::uint64_t>(begin, first);
        end = std::max<std::uint64_t>(end, first + segment.p_memsz);
        holds = holds || (search.first >= first && search.first < first + segment.p_memsz);
    }
    if (!holds) {
        return 0;
    }
    const char* path = library->dlpi_name;
    search.second = LoadedCode{path == nullptr || *path == 0 ? "/proc/self/exe" : path, begin, end, library->dlpi_addr};
    return 1;
}

}  // namespace

LoadedCode CodeAround(const void* address) {
    std::pair<std::uint64_t, LoadedCode> search{reinterpret_cast<std::uint64_t>(address), {}};
    dl_iterate_phdr(&VisitLibrary, &search);
    return search.second;
}

LaunchCode::LaunchCode(const Kernel& kernel) : machine(CodeAround(reinterpret_cast<const void*>(&CodeAround))) {
    for (const void* entry : {kernel.cube_entry, kernel.vector_entry}) {
        if (entry != nullptr) {
            device.push_back(CodeAround(entry));
        }
    }
}

const LoadedCode* LaunchCode::Device(std::uint64_t pc) const {
    for (const LoadedCode& code : device) {
        if (code.Holds(pc)) {
            return &code;
        }
    }
    return nullptr;
}

}  // namespace ascend_attention::sim
