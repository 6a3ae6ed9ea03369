// SPDX-License-Identifier: Apache-2.0
// The overlap rule of the vector instructions: within a repeat a source lies exactly on the destination or not on it at
// all, and no repeat reads what an earlier one wrote (the hardware has several repeats in flight).
#include <algorithm>
#include <vector>

#include "vector/lanes.h"
#include "vector/reduce.h"

namespace ascend_attention::sim {

namespace {

struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t lane;
};

std::uint64_t RepeatSpan(const Stream& stream, const Lanes& lanes) {
    const std::uint64_t blocks = (lanes.per_repeat + stream.LanesPerBlock() - 1) / stream.LanesPerBlock();
    const std::uint64_t last = std::min<std::uint64_t>(kBlockBytes, stream.DenseRepeatBytes(lanes));
    return (blocks - 1) * stream.block_step + last;
}

std::uint64_t End(const Stream& stream, const Lanes& lanes) {
    return stream.operand.address + (lanes.repeats() - 1) * stream.repeat_step + RepeatSpan(stream, lanes);
}

// The active bytes of one repeat, block by block; a partly masked block counts from its first to its last active lane.
void ActiveIntervals(const Stream& stream, const Lanes& lanes, std::uint64_t repeat, std::vector<Interval>& out) {
    out.clear();
    const std::uint32_t per_block = stream.LanesPerBlock();
    const bool is_tail = repeat >= lanes.body;
    const std::uint64_t base = stream.operand.address + repeat * stream.repeat_step;
    for (std::uint32_t first = 0; first < lanes.per_repeat; first += per_block) {
        std::uint32_t low = lanes.per_repeat;
        std::uint32_t high = 0;
        for (std::uint32_t lane = first; lane < std::min(first + per_block, lanes.per_repeat); ++lane) {
            if (is_tail ? lane < lanes.tail : lanes.Active(lane)) {
                low = std::min(low, lane);
                high = lane + 1;
            }
        }
        if (high != 0) {
            const std::uint64_t block = base + first / per_block * stream.block_step;
            out.push_back(Interval{block + std::uint64_t{low - first} * stream.bits / 8,
                                   block + std::uint64_t{high - first} * stream.bits / 8, low});
        }
    }
}

bool SamePlaces(const Stream& a, const Stream& b) {
    return a.operand.address == b.operand.address && a.bits == b.bits && a.block_step == b.block_step &&
           a.repeat_step == b.repeat_step;
}

}  // namespace

void RequireApart(Access& access, const Operand& dst, std::uint64_t dst_bytes, const Operand& src, const char* name,
                  std::uint64_t src_bytes) {
    access.Require(src.address + src_bytes <= dst.address || dst.address + dst_bytes <= src.address, name,
                   static_cast<std::int64_t>(src.address), "memory apart from dst");
}

bool CheckOverlap(Access& access, const Stream& dst, const Stream& src, const Lanes& lanes, Overlap allowed) {
    if (lanes.empty()) {
        return false;
    }
    const std::uint64_t low = dst.operand.address;
    const std::uint64_t high = End(dst, lanes);
    if (high <= src.operand.address || End(src, lanes) <= low) {
        return false;
    }
    const bool same = SamePlaces(dst, src);
    if (same && allowed != Overlap::kNone && (lanes.repeats() == 1 || dst.repeat_step >= RepeatSpan(dst, lanes))) {
        return false;
    }
    if (same && allowed == Overlap::kAccumulate && dst.repeat_step == 0 && dst.block_step >= kBlockBytes) {
        return true;  // the usual accumulation: the same lanes in every repeat
    }
    const bool converting = allowed == Overlap::kConverting && dst.operand.address == src.operand.address;
    // The rare case in full: repeat by repeat, which bytes are written and which read.
    std::vector<bool> written(high - low);
    std::vector<Interval> reads;
    std::vector<Interval> writes;
    bool chained = false;
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        ActiveIntervals(src, lanes, repeat, reads);
        ActiveIntervals(dst, lanes, repeat, writes);
        for (const Interval& read : reads) {
            for (std::uint64_t byte = std::max(read.begin, low); byte < std::min(read.end, high); ++byte) {
                if (written[byte - low]) {
                    chained = true;
                    access.Require(allowed == Overlap::kAccumulate, src.name,
                                   static_cast<std::int64_t>(byte - src.operand.address),
                                   "no source byte that an earlier repeat of the call has written");
                }
            }
            for (const Interval& write : writes) {
                const bool apart = read.end <= write.begin || write.end <= read.begin;
                const bool exact = read.begin == write.begin && read.lane == write.lane && src.bits == dst.bits;
                access.Require(apart || converting || (exact && allowed != Overlap::kNone), src.name,
                               static_cast<std::int64_t>(write.begin - src.operand.address),
                               "within a repeat exactly on dst or apart from it");
            }
        }
        for (const Interval& write : writes) {
            std::fill(written.begin() + static_cast<std::ptrdiff_t>(write.begin - low),
                      written.begin() + static_cast<std::ptrdiff_t>(write.end - low), true);
        }
    }
    return chained;
}

void CheckReduceOverlap(Access& access, const Operand& dst, std::uint64_t result_bytes, std::uint64_t repeat_step,
                        const Stream& src, const Lanes& lanes) {
    const std::uint64_t low = dst.address;
    const std::uint64_t high = low + (lanes.repeats() - 1) * repeat_step + result_bytes;
    if (high <= src.operand.address || End(src, lanes) <= low) {
        return;
    }
    std::vector<Interval> reads;
    for (std::uint64_t repeat = 1; repeat < lanes.repeats(); ++repeat) {
        ActiveIntervals(src, lanes, repeat, reads);
        for (const Interval& read : reads) {
            for (std::uint64_t earlier = 0; earlier < repeat; ++earlier) {
                const std::uint64_t begin = low + earlier * repeat_step;
                access.Require(read.end <= begin || begin + result_bytes <= read.begin, src.name,
                               static_cast<std::int64_t>(read.begin - src.operand.address),
                               "no source byte that an earlier repeat of the call has written");
            }
        }
    }
}

}  // namespace ascend_attention::sim
