// SPDX-License-Identifier: Apache-2.0
#include "core/global_memory.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace ascend_attention::sim {

namespace {

// Device allocations are aligned to at least this.
constexpr std::uint64_t kReplayAlignment = 2 * 1024 * 1024;

}  // namespace

GlobalMemory::GlobalMemory(const std::vector<GlobalBuffer>& buffers) {
    std::uint64_t replay_base = kReplayAlignment;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const GlobalBuffer& buffer = buffers[i];
        if (buffer.bytes == 0) {
            continue;
        }
        if (buffer.data == nullptr) {
            throw std::invalid_argument("global buffer '" + buffer.name + "' is null");
        }
        GlobalRegion region;
        region.begin = reinterpret_cast<std::uint64_t>(buffer.data);
        region.end = region.begin + buffer.bytes;
        region.replay_base = replay_base;
        replay_base += (buffer.bytes + kReplayAlignment) / kReplayAlignment * kReplayAlignment;
        region.writable = buffer.writable;
        region.initialised = buffer.initialised;
        region.output = buffer.output;
        region.name = buffer.name.empty() ? "argument " + std::to_string(i) : buffer.name;
        regions_.push_back(std::move(region));
    }
    std::stable_sort(regions_.begin(), regions_.end(),
                     [](const GlobalRegion& a, const GlobalRegion& b) { return a.begin < b.begin; });
    std::vector<GlobalRegion> merged;
    for (GlobalRegion& region : regions_) {
        if (merged.empty() || region.begin >= merged.back().end) {
            merged.push_back(std::move(region));
            continue;
        }
        GlobalRegion& last = merged.back();
        // The same tensor passed twice (key and value), or a view of it: legal as long as nobody writes it.
        if (region.writable || last.writable || !region.initialised || !last.initialised) {
            throw std::invalid_argument("global buffers '" + last.name + "' and '" + region.name + "' overlap");
        }
        last.end = std::max(last.end, region.end);
        last.name += "/" + region.name;
    }
    regions_ = std::move(merged);
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        regions_[i].index = static_cast<int>(i);
        const GlobalRegion& region = regions_[i];
        if (!region.initialised) {
            std::memset(reinterpret_cast<void*>(region.begin), 0xFF, region.end - region.begin);
        }
    }
}

const GlobalRegion* GlobalMemory::Find(std::uint64_t address) const {
    auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                  [](std::uint64_t value, const GlobalRegion& region) { return value < region.begin; });
    if (after == regions_.begin()) {
        return nullptr;
    }
    --after;
    return address < after->end ? &*after : nullptr;
}

std::string GlobalMemory::DescribeNearest(std::uint64_t address) const {
    const GlobalRegion* nearest = nullptr;
    for (const GlobalRegion& region : regions_) {
        if (region.begin <= address || nearest == nullptr) {
            nearest = &region;
        }
    }
    if (nearest == nullptr) {
        return "no global buffer is registered";
    }
    const std::string size = "'" + nearest->name + "' (" + std::to_string(nearest->end - nearest->begin) + " bytes)";
    if (address < nearest->begin) {
        return std::to_string(nearest->begin - address) + " bytes before " + size;
    }
    return "byte " + std::to_string(address - nearest->begin) + " counted from the start of " + size;
}

}  // namespace ascend_attention::sim
