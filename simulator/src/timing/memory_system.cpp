// SPDX-License-Identifier: Apache-2.0
#include "timing/memory_system.h"

#include <algorithm>

namespace ascend_attention::sim {

MemorySystem::MemorySystem(const MemoryFigures& figures)
    : sets_(std::max<std::uint64_t>(1, figures.l2_bytes / kLineBytes / kWays)),
      l2_read_{figures.l2_read},
      l2_write_{figures.l2_write},
      hbm_{figures.hbm} {
    lines_.resize(sets_ * kWays);
}

bool MemorySystem::Touch(std::uint64_t line, bool write) {
    // Neighbouring lines lie in neighbouring sets. A pitch that is a multiple of the number of sets would crowd one
    // set; the upper bits are folded in, as caches do.
    const std::uint64_t set = (line ^ (line / sets_ * 0x9E3779B1U)) % sets_;
    Line* ways = &lines_[set * kWays];
    Line* victim = ways;
    ++clock_;
    for (int way = 0; way < kWays; ++way) {
        if (ways[way].tag == line + 1) {
            ways[way].used = clock_;
            MarkDirty(ways[way], write);
            return true;
        }
        if (ways[way].used < victim->used) {
            victim = &ways[way];
        }
    }
    *victim = Line{line + 1, clock_, false};
    MarkDirty(*victim, write);
    return false;
}

void MemorySystem::MarkDirty(Line& line, bool write) {
    if (write && !line.dirty) {
        line.dirty = true;
        written_back_ += kLineBytes;
    }
}

void MemorySystem::TouchRow(std::uint64_t address, std::uint64_t bytes, bool write, std::uint64_t& missed_bytes) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t line = address / kLineBytes; line * kLineBytes < end; ++line) {
        if (line == last_line_ && !write) {
            continue;
        }
        if (!Touch(line, write)) {
            // A store of a whole line needs nothing from HBM.
            const std::uint64_t begin = line * kLineBytes;
            if (!write || begin < address || begin + kLineBytes > end) {
                missed_bytes += kLineBytes;
            }
        }
        last_line_ = line;
    }
}

// Straight to or from HBM, in whole lines.
MemorySystem::Answer MemorySystem::MoveAround(const Transfer& transfer, double now) {
    const bool dense = transfer.count0 == 1 || transfer.stride0 == transfer.row_bytes;
    const std::uint64_t run = std::uint64_t{transfer.row_bytes} * (dense ? transfer.count0 : 1);
    const std::uint64_t runs = std::uint64_t{transfer.count1} * (dense ? 1 : transfer.count0);
    const std::uint64_t bytes = (run + kLineBytes - 1) / kLineBytes * kLineBytes * runs;
    (transfer.write ? traffic_.hbm_written : traffic_.hbm_read) += bytes;
    return Answer{hbm_.Serve(now, static_cast<double>(bytes)), !transfer.write};
}

MemorySystem::Answer MemorySystem::Move(const Transfer& transfer, double now) {
    if (transfer.bypasses_l2) {
        return MoveAround(transfer, now);
    }
    std::uint64_t missed = 0;
    written_back_ = 0;
    const bool dense0 = transfer.stride0 == transfer.row_bytes || transfer.count0 == 1;
    const std::uint64_t run = dense0 ? std::uint64_t{transfer.row_bytes} * transfer.count0 : transfer.row_bytes;
    const std::uint32_t runs = dense0 ? 1 : transfer.count0;
    for (std::uint32_t outer = 0; outer < transfer.count1; ++outer) {
        for (std::uint32_t inner = 0; inner < runs; ++inner) {
            TouchRow(transfer.address + outer * transfer.stride1 + inner * transfer.stride0, run, transfer.write,
                     missed);
        }
    }
    const std::uint64_t bytes = transfer.bytes();
    (transfer.write ? traffic_.l2_written : traffic_.l2_read) += bytes;
    traffic_.hbm_read += missed;
    traffic_.hbm_written += written_back_;
    Answer answer;
    answer.missed = missed != 0 && !transfer.write;
    answer.done = (transfer.write ? l2_write_ : l2_read_).Serve(now, static_cast<double>(bytes));
    if (missed + written_back_ != 0) {
        answer.done = std::max(answer.done, hbm_.Serve(now, static_cast<double>(missed + written_back_)));
    }
    return answer;
}

}  // namespace ascend_attention::sim
