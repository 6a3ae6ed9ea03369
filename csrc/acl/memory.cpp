// SPDX-License-Identifier: Apache-2.0
#include "acl/memory.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "acl/acl_base.h"
#include "acl/failure.h"
#include "common/text.h"

namespace ascend_attention::acl {

struct Allocation {
    Allocation(void* the_data, std::size_t the_bytes) : data(the_data), bytes(the_bytes) {}
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    ~Allocation() { std::free(data); }

    void* data;
    std::size_t bytes;
};

namespace {

constexpr std::size_t kAlignment = 512;  // what the device's allocator aligns to
constexpr std::size_t kPadding = 32;     // and what it adds, since kernels move whole blocks of that size

struct Memory {
    std::mutex mutex;
    std::map<std::uintptr_t, Pin> device;  // by where they begin
    std::map<std::uintptr_t, Pin> host;
};

// Never destroyed: other threads may still be in a call when the process ends.
Memory& TheMemory() {
    static Memory* const memory = new Memory;
    return *memory;
}

std::uintptr_t PlaceOf(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// The allocation in which `address` lies. The mutex is held.
Pin Around(const Memory& memory, const void* address) {
    auto next = memory.device.upper_bound(PlaceOf(address));
    if (next == memory.device.begin()) {
        return nullptr;
    }
    const Pin& candidate = std::prev(next)->second;
    return PlaceOf(address) - PlaceOf(candidate->data) < candidate->bytes ? candidate : nullptr;
}

constexpr std::size_t kMost = std::size_t{1} << 46;

// `data` null: there was none.
void* Keep(void* data, std::size_t bytes, std::map<std::uintptr_t, Pin> Memory::* where) {
    if (data == nullptr) {
        throw Failure(ACL_ERROR_RT_MEMORY_ALLOCATION, Concat("no memory for ", bytes, " bytes"));
    }
    auto allocation = std::make_shared<const Allocation>(data, bytes);
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    (memory.*where).emplace(PlaceOf(data), std::move(allocation));
    return data;
}

bool Release(void* address, std::map<std::uintptr_t, Pin> Memory::* where) {
    Pin freed;  // released after the lock
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    const auto found = (memory.*where).find(PlaceOf(address));
    if (found == (memory.*where).end()) {
        return false;
    }
    freed = std::move(found->second);
    (memory.*where).erase(found);
    return true;
}

}  // namespace

void* AllocateDeviceMemory(std::size_t bytes) {
    const std::size_t whole = bytes > kMost ? 0 : (bytes + kPadding + kAlignment - 1) / kAlignment * kAlignment;
    return Keep(whole == 0 ? nullptr : std::aligned_alloc(kAlignment, whole), bytes, &Memory::device);
}

bool FreeDeviceMemory(void* address) { return Release(address, &Memory::device); }

void* AllocateHostMemory(std::size_t bytes) {
    return Keep(bytes > kMost ? nullptr : std::malloc(bytes), bytes, &Memory::host);
}

bool FreeHostMemory(void* address) { return Release(address, &Memory::host); }

void FreeAllDeviceMemory() {
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    memory.device.clear();
}

std::size_t CountAllocations() {
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    return memory.device.size() + memory.host.size();
}

Pin FindDeviceMemory(const void* address, std::uint64_t bytes) {
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    Pin around = Around(memory, address);
    if (around == nullptr || bytes > around->bytes - (PlaceOf(address) - PlaceOf(around->data))) {
        return nullptr;
    }
    return around;
}

std::string DescribeMissing(const void* address, std::uint64_t bytes) {
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    const Pin around = Around(memory, address);
    const std::string what = Concat(bytes, " bytes at ", address);
    if (around == nullptr) {
        return what + ", which is no memory of aclrtMalloc, or no more";
    }
    return Concat(what, ", of which ", around->bytes - (PlaceOf(address) - PlaceOf(around->data)),
                  " are left in the memory of ", around->bytes, " bytes there");
}

bool IsDeviceMemory(const void* address) { return FindDeviceMemory(address, 0) != nullptr; }

}  // namespace ascend_attention::acl
