// SPDX-License-Identifier: Apache-2.0
// What checked mode remembers about memory: per 32-byte granule who wrote and read which bytes last, and which bytes
// are defined. Nothing is ever merged: per byte there are the last write and, for each pipe, its last read since, so
// that an access is judged against exactly what it touches. A granule on chip has room for three writes and three
// reads, which is enough unless instructions touch it piece by piece; what does not fit goes into a list. A granule of
// global memory is a list.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/global_memory.h"
#include "machine/call.h"

namespace ascend_attention::sim {

constexpr std::uint64_t kGranule = 32;
constexpr std::uint32_t kAllBytes = 0xFFFFFFFFU;

struct FreeDelete {
    void operator()(void* memory) const { std::free(memory); }
};
// Zeroed by the operating system page by page: memory that a kernel never touches costs nothing.
template <typename T>
std::unique_ptr<T[], FreeDelete> LazyArray(std::size_t count) {
    T* memory = static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)));
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return std::unique_ptr<T[], FreeDelete>(memory);
}

// Mask of the bytes [begin, end) of a granule that starts at `base`.
inline std::uint32_t ByteMask(std::uint64_t base, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t low = begin > base ? begin - base : 0;
    const std::uint64_t high = end < base + kGranule ? end - base : kGranule;
    const std::uint32_t upper = high == kGranule ? kAllBytes : (1U << high) - 1U;
    return upper & ~((1U << low) - 1U);
}

// An access in an on-chip memory; `site` carries the pipe in its low three bits.
struct LocalAccess {
    Tick tick;
    std::uint32_t site;
    std::uint32_t mask;
    Pipe pipe() const { return static_cast<Pipe>(site & 7U); }
};

struct LocalGranule {
    static constexpr int kSlots = 3;
    LocalAccess writes[kSlots];  // free when no byte is left in the mask
    LocalAccess reads[kSlots];
    std::uint32_t defined;
    std::uint32_t more;  // head of the list of what has no slot
};

struct ListedAccess {
    std::uint32_t next;
    LocalAccess access;
    bool write;
};

// An access to global memory. `sequence` orders writes of all cores as they took effect.
struct GlobalAccess {
    std::uint32_t next;
    std::uint32_t mask;
    Tick tick;
    std::uint32_t site;
    std::uint32_t sequence;
    std::uint16_t component;
    bool write;
    bool atomic;
};

// Shadow of one registered buffer.
struct BufferShadow {
    explicit BufferShadow(const GlobalRegion& source);

    const GlobalRegion* region;
    bool tracked;  // inputs that nobody writes are not
    std::unique_ptr<std::uint32_t[], FreeDelete> heads;
    std::unique_ptr<std::uint32_t[], FreeDelete> flipped;  // bytes whose definedness differs from the start

    std::uint32_t Defined(std::uint64_t granule) const {
        return region->initialised ? ~flipped[granule] : flipped[granule];
    }
    void SetDefined(std::uint64_t granule, std::uint32_t mask, bool defined) {
        const bool flip = defined != region->initialised;
        flipped[granule] = flip ? flipped[granule] | mask : flipped[granule] & ~mask;
    }
};

// Entries of lists that are linked by index. Index 0 is unused and ends a list.
template <typename Entry>
class EntryPool {
public:
    EntryPool() : entries_(1) {}
    Entry& operator[](std::uint32_t index) { return entries_[index]; }
    std::uint32_t Take() {
        if (free_ != 0) {
            const std::uint32_t index = free_;
            free_ = entries_[index].next;
            return index;
        }
        entries_.emplace_back();
        return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    void Give(std::uint32_t index) {
        entries_[index].next = free_;
        free_ = index;
    }

private:
    std::vector<Entry> entries_;
    std::uint32_t free_ = 0;
};

}  // namespace ascend_attention::sim
