// SPDX-License-Identifier: Apache-2.0
#include "acl/handles.h"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace ascend_attention::acl {
namespace {

// No address of a process has these bits: a program that follows a handle stops there.
constexpr std::uint64_t kMark = 0xACULL << 56;
constexpr int kKindShift = 48;
constexpr std::uint64_t kSerialMask = (1ULL << kKindShift) - 1;

struct Table {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::shared_ptr<void>> live;
    std::uint64_t given = 0;
};

// Never destroyed: other threads may still be in a call when the process ends.
Table& TheTable() {
    static Table* const table = new Table;
    return *table;
}

std::uint64_t Number(const void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

bool Is(Kind kind, const void* handle) {
    return (Number(handle) & ~kSerialMask) == (kMark | std::uint64_t(kind) << kKindShift);
}

}  // namespace

const char* NameOf(Kind kind) {
    switch (kind) {
        case Kind::kTensor:
            return "a tensor";
        case Kind::kScalar:
            return "a scalar";
        case Kind::kIntArray:
            return "an array of integers";
        case Kind::kFloatArray:
            return "an array of floats";
        case Kind::kBoolArray:
            return "an array of bools";
        case Kind::kTensorList:
            return "a list of tensors";
        case Kind::kScalarList:
            return "a list of scalars";
        case Kind::kExecutor:
            return "an executor";
        case Kind::kContext:
            return "a context";
        case Kind::kStream:
            return "a stream";
        case Kind::kEvent:
            return "an event";
    }
    return "a handle";
}

void* AddHandle(Kind kind, std::shared_ptr<void> object) {
    Table& table = TheTable();
    const std::lock_guard<std::mutex> lock(table.mutex);
    const std::uint64_t handle = kMark | std::uint64_t(kind) << kKindShift | ++table.given;
    table.live.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);
}

std::shared_ptr<void> FindHandle(Kind kind, const void* handle) {
    if (!Is(kind, handle)) {
        return nullptr;
    }
    Table& table = TheTable();
    const std::lock_guard<std::mutex> lock(table.mutex);
    const auto found = table.live.find(Number(handle));
    return found == table.live.end() ? nullptr : found->second;
}

std::shared_ptr<void> TakeHandle(Kind kind, const void* handle) {
    if (!Is(kind, handle)) {
        return nullptr;
    }
    Table& table = TheTable();
    const std::lock_guard<std::mutex> lock(table.mutex);
    const auto found = table.live.find(Number(handle));
    if (found == table.live.end()) {
        return nullptr;
    }
    std::shared_ptr<void> object = std::move(found->second);
    table.live.erase(found);
    return object;
}

std::string DescribeHandle(const void* handle) {
    for (int kind = int(Kind::kTensor); kind <= int(Kind::kEvent); ++kind) {
        if (!Is(Kind(kind), handle)) {
            continue;
        }
        Table& table = TheTable();
        const std::lock_guard<std::mutex> lock(table.mutex);
        if ((Number(handle) & kSerialMask) > table.given) {
            break;
        }
        const std::string name = NameOf(Kind(kind));
        if (table.live.count(Number(handle)) > 0) {
            return name;
        }
        return name + (Kind(kind) == Kind::kExecutor ? " that was used or destroyed" : " that was destroyed");
    }
    return handle == nullptr ? "nullptr" : "a pointer that this library did not give";
}

std::size_t CountHandles() {
    Table& table = TheTable();
    const std::lock_guard<std::mutex> lock(table.mutex);
    return table.live.size();
}

}  // namespace ascend_attention::acl
