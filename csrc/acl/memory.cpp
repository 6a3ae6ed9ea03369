// SPDX-License-Identifier: Apache-2.0
#include "acl/memory.h"

#include <cstdlib>
#include <cstring>
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
    std::map<std::uintptr_t, Pin> allocations;  // by where they begin
};

// Never destroyed: other threads may still be in a call when the process ends.
Memory& TheMemory() {
    static Memory* const memory = new Memory;
    return *memory;
}

std::uintptr_t PlaceOf(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// The allocation in which `address` lies. The mutex is held.
Pin Around(const Memory& memory, const void* address) {
    auto next = memory.allocations.upper_bound(PlaceOf(address));
    if (next == memory.allocations.begin()) {
        return nullptr;
    }
    const Pin& candidate = std::prev(next)->second;
    return PlaceOf(address) - PlaceOf(candidate->data) < candidate->bytes ? candidate : nullptr;
}

}  // namespace

void* AllocateDeviceMemory(std::size_t bytes) {
    constexpr std::size_t kMost = std::size_t{1} << 46;
    const std::size_t whole = bytes > kMost ? 0 : (bytes + kPadding + kAlignment - 1) / kAlignment * kAlignment;
    void* data = whole == 0 ? nullptr : std::aligned_alloc(kAlignment, whole);
    if (data == nullptr) {
        throw Failure(ACL_ERROR_RT_MEMORY_ALLOCATION, Concat("no memory for ", bytes, " bytes"));
    }
    auto allocation = std::make_shared<const Allocation>(data, bytes);
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    memory.allocations.emplace(PlaceOf(data), std::move(allocation));
    return data;
}

bool FreeDeviceMemory(void* address) {
    Pin freed;  // released after the lock
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    const auto found = memory.allocations.find(PlaceOf(address));
    if (found == memory.allocations.end()) {
        return false;
    }
    freed = std::move(found->second);
    memory.allocations.erase(found);
    return true;
}

void FreeAllDeviceMemory() {
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    memory.allocations.clear();
}

std::size_t CountAllocations() {
    Memory& memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    return memory.allocations.size();
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
