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

std::uint64_t MemorySystem::SetOf(std::uint64_t line) const {
    if (line < set_count_) {
        return line;
    }
    // Neighbouring lines lie in neighbouring sets. A pitch that is a multiple of the number of sets would crowd one
    // set; the upper bits are folded in, as caches do. Division by multiplication: it is done for every line.
    const auto divide = [this](std::uint64_t number) {
        const auto quotient = static_cast<std::uint64_t>(static_cast<unsigned __int128>(number) * reciprocal_ >> 64);
        return number - quotient * set_count_ < set_count_ ? quotient : quotient + 1;
    };
    const std::uint64_t folded = line ^ (divide(line) * 0x9E3779B1U);
    return folded - divide(folded) * set_count_;
}

bool MemorySystem::Touch(std::uint64_t line, bool write) {
    Set* const set = sets_ + SetOf(line);
    __builtin_prefetch(set + 1);  // of the next line, which somebody will want soon
    Line* const lines = set->lines;
    const auto wanted = static_cast<Line>(line + 1);
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
