// SPDX-License-Identifier: Apache-2.0
#include "timing/memory_system.h"

#include <algorithm>
#include <limits>
#include <new>

namespace ascend_attention::sim {

MemorySystem::MemorySystem(const MemoryFigures& figures)
    : set_count_(std::max<std::uint64_t>(1, figures.l2_bytes / kLineBytes / kWays)),
      reciprocal_(std::numeric_limits<std::uint64_t>::max() / set_count_),
      memory_(std::calloc(set_count_ + 1, sizeof(Set))),
      l2_read_{figures.l2_read},
      l2_write_{figures.l2_write},
      hbm_{figures.hbm} {
    if (memory_ == nullptr) {
        throw std::bad_alloc();
    }
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.get());
    sets_ = reinterpret_cast<Set*>((start + alignof(Set) - 1) / alignof(Set) * alignof(Set));
}

bool MemorySystem::Use(Set& set, Line wanted, bool write) {
    Line* const lines = set.lines;
    std::size_t way = 0;
    while (way < kWays - 1 && (lines[way] & ~kDirty) != wanted && lines[way] != 0) {
        ++way;
    }
    // Without a hit this is an empty way, or the line that was used longest ago: it makes room.
    const bool there = (lines[way] & ~kDirty) == wanted;
    Line found = there ? lines[way] : wanted;
    // A line that becomes dirty costs its way back to HBM now, not when it makes room: a kernel that runs again and
    // again pays for the lines of the run before.
    if (write && (found & kDirty) == 0) {
        found |= kDirty;
        written_back_ += kLineBytes;
    }
    for (; way > 0; --way) {
        lines[way] = lines[way - 1];
    }
    lines[0] = found;
    return there;
}

std::uint64_t MemorySystem::TouchRows(const Transfer& transfer) {
    std::uint64_t missed = 0;
    const bool dense0 = transfer.stride0 == transfer.row_bytes || transfer.count0 == 1;
    const std::uint64_t run = dense0 ? std::uint64_t{transfer.row_bytes} * transfer.count0 : transfer.row_bytes;
    const std::uint32_t runs = dense0 ? 1 : transfer.count0;
    for (std::uint32_t outer = 0; outer < transfer.count1; ++outer) {
        for (std::uint32_t inner = 0; inner < runs; ++inner) {
            TouchRow(transfer.address + outer * transfer.stride1 + inner * transfer.stride0, run, transfer.write,
                     missed);
        }
    }
    return missed;
}

// Straight to or from HBM, in whole lines.
MemorySystem::Answer MemorySystem::MoveAround(const Transfer& transfer, double now) {
    const bool dense = transfer.count0 == 1 || transfer.stride0 == transfer.row_bytes;
    const std::uint64_t run = std::uint64_t{transfer.row_bytes} * (dense ? transfer.count0 : 1);
    const std::uint64_t runs = std::uint64_t{transfer.count1} * (dense ? 1 : transfer.count0);
    const std::uint64_t bytes = (run + kLineBytes - 1) / kLineBytes * kLineBytes * runs;
    (transfer.write ? traffic_.hbm_written : traffic_.hbm_read) += bytes;
    return Answer{hbm_.Serve(now, bytes), !transfer.write};
}

}  // namespace ascend_attention::sim
