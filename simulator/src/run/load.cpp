// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "run/launch.h"

namespace ascend_attention::sim {

namespace {

// Device libraries stay loaded: a kernel's entry is kept by callers for as long as they like.
void* Library(const std::string& path) {
    static std::mutex mutex;
    static auto* loaded = new std::map<std::string, void*>;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = loaded->find(path);
    if (found != loaded->end()) {
        return found->second;
    }
    // Local: the same template has two bodies, one per core type.
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* error = dlerror();
        throw std::runtime_error("cannot load device library: " + std::string(error == nullptr ? path : error));
    }
    loaded->emplace(path, handle);
    return handle;
}

void* Entry(const std::string& library, const std::string& name) {
    void* entry = dlsym(Library(library), name.c_str());
    if (entry == nullptr) {
        const char* error = dlerror();
        throw std::runtime_error("no kernel '" + name + "': " + (error == nullptr ? library : std::string(error)));
    }
    return entry;
}

}  // namespace

Kernel LoadKernel(const std::string& cube_library, const std::string& vector_library, const std::string& name,
                  KernelKind kind) {
    Kernel kernel;
    kernel.name = name;
    kernel.kind = kind;
    if (kind != KernelKind::kVectorOnly) {
        kernel.cube_entry = Entry(cube_library, name);
    }
    if (kind != KernelKind::kCubeOnly) {
        kernel.vector_entry = Entry(vector_library, name);
    }
    return kernel;
}

}  // namespace ascend_attention::sim
