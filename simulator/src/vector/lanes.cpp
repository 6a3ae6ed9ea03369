// SPDX-License-Identifier: Apache-2.0
#include "vector/lanes.h"

#include <algorithm>
#include <cstring>

#include "core/core.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

// The first `lanes` bits set.
std::array<std::uint64_t, 2> FirstBits(std::uint64_t lanes) {
    std::array<std::uint64_t, 2> bits{};
    bits[0] = lanes >= 64 ? kAllBits : (std::uint64_t{1} << lanes) - 1;
    bits[1] = lanes >= 128 ? kAllBits : lanes > 64 ? (std::uint64_t{1} << (lanes - 64)) - 1 : 0;
    return bits;
}

// Calls `visit(first lane, count)` for each run of neighbouring active lanes.
template <typename Visit>
void ForEachRun(const std::array<std::uint64_t, 2>& bits, std::uint32_t lanes, Visit visit) {
    std::uint32_t lane = 0;
    while (lane < lanes) {
        if ((bits[lane / 64] >> (lane % 64) & 1U) == 0) {
            ++lane;
            continue;
        }
        const std::uint32_t first = lane;
        while (lane < lanes && (bits[lane / 64] >> (lane % 64) & 1U) != 0) {
            ++lane;
        }
        visit(first, lane - first);
    }
}

// Calls `visit(offset in memory, bytes, blocks)` for the parts of a run: `blocks` consecutive blocks of `bytes`, one
// block step apart. A run that is contiguous in memory is one part.
template <typename Visit>
void ForEachPart(const Stream& stream, std::uint32_t first, std::uint32_t count, Visit visit) {
    const std::uint32_t per_block = stream.LanesPerBlock();
    if (stream.block_step == kBlockBytes || first / per_block == (first + count - 1) / per_block) {
        const std::uint64_t offset =
            first / per_block * stream.block_step + std::uint64_t{first % per_block} * stream.bits / 8;
        visit(offset, std::uint64_t{count} * stream.bits / 8, std::uint64_t{1});
        return;
    }
    const std::uint32_t end = first + count;
    std::uint32_t lane = first;
    if (lane % per_block != 0) {
        const std::uint32_t head = per_block - lane % per_block;
        visit(lane / per_block * stream.block_step + std::uint64_t{lane % per_block} * stream.bits / 8,
              std::uint64_t{head} * stream.bits / 8, std::uint64_t{1});
        lane += head;
    }
    const std::uint32_t blocks = (end - lane) / per_block;
    if (blocks != 0) {
        visit(lane / per_block * stream.block_step, std::uint64_t{kBlockBytes}, std::uint64_t{blocks});
        lane += blocks * per_block;
    }
    if (lane < end) {
        visit(lane / per_block * stream.block_step, std::uint64_t{end - lane} * stream.bits / 8, std::uint64_t{1});
    }
}

template <typename Declare>
void ForEachRegion(const Stream& stream, const Lanes& lanes, Declare declare) {
    if (lanes.empty()) {
        return;
    }
    if (stream.Contiguous(lanes)) {
        const std::uint64_t elements = lanes.body * lanes.per_repeat + lanes.tail;
        declare(Region{0, elements * stream.bits / 8, 1, 0, 1, 0});
        return;
    }
    if (lanes.body != 0) {
        ForEachRun(lanes.bits, lanes.per_repeat, [&](std::uint32_t first, std::uint32_t count) {
            ForEachPart(stream, first, count, [&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t blocks) {
                declare(Region{offset, bytes, blocks, stream.block_step, lanes.body, stream.repeat_step});
            });
        });
    }
    if (lanes.tail != 0) {
        const std::uint64_t base = lanes.body * stream.repeat_step;
        ForEachPart(stream, 0, lanes.tail, [&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t blocks) {
            declare(Region{base + offset, bytes, blocks, stream.block_step, 1, 0});
        });
    }
}

}  // namespace

Lanes CountLanes(std::uint64_t count, std::uint32_t lanes) {
    Lanes result;
    result.per_repeat = lanes;
    result.body = count / lanes;
    result.tail = static_cast<std::uint32_t>(count % lanes);
    result.bits = FirstBits(lanes);
    result.full = true;
    return result;
}

Lanes FullLanes(std::uint64_t repeats, std::uint32_t lanes) { return CountLanes(repeats * lanes, lanes); }

Lanes ResolveLanes(Access& access, const VectorMask& mask, std::int64_t repeat, std::uint32_t lanes) {
    MaskState& state = access.core().state.mask;
    if (mask.form != MaskForm::kRegister) {
        access.SetsMask();
    }
    if (mask.form == MaskForm::kCount) {
        // 2^31 elements would not fit any memory; this catches a negative count.
        access.Require(mask.low < (std::uint64_t{1} << 31), "calCount", static_cast<std::int64_t>(mask.low), ">= 0");
        // The element-count forms switch to counter mode, set the mask, and restore normal mode with a full mask. The
        // documentation promises only the mode.
        state.counter_mode = false;
        state.mask = {kAllBits, kAllBits};
        state.specified = false;
        return CountLanes(mask.low, lanes);
    }
    std::array<std::uint64_t, 2> bits{};
    if (mask.form == MaskForm::kRegister) {
        access.Require(
            state.specified, "mask register", 0,
            "set by SetVectorMask or ResetMask: isSetMask is false, and the call before left it unspecified");
        bits = state.mask;
    } else if (mask.form == MaskForm::kLanes) {
        access.Require(!state.counter_mode, "mask", static_cast<std::int64_t>(mask.low),
                       "mask[] or SetVectorMask in counter mode: a lane count is turned into bits and those into an "
                       "element count");
        access.Require(mask.low <= lanes, "mask", static_cast<std::int64_t>(mask.low),
                       lanes == 128  ? "0..128"
                       : lanes == 64 ? "0..64"
                                     : "0..lanes of one repeat");
        bits = FirstBits(mask.low);
    } else {
        bits = {mask.low, mask.high};
    }
    if (mask.form != MaskForm::kRegister) {
        state.mask = bits;
        state.specified = false;
    }
    if (state.counter_mode) {
        access.Require(bits[0] < (std::uint64_t{1} << 31), "mask (element count in counter mode)",
                       static_cast<std::int64_t>(bits[0]), "an element count");
        return CountLanes(bits[0], lanes);
    }
    access.Require(repeat >= 0 && repeat <= 255, "repeatTimes", repeat, "0..255");
    Lanes result;
    result.per_repeat = lanes;
    const std::array<std::uint64_t, 2> all = FirstBits(lanes);
    result.bits = {bits[0] & all[0], bits[1] & all[1]};
    result.full = result.bits == all;
    // A mask without any bit is a NOP, as is a repeat count of 0.
    result.body = result.bits[0] != 0 || result.bits[1] != 0 ? static_cast<std::uint64_t>(repeat) : 0;
    return result;
}

bool Stream::Contiguous(const Lanes& lanes) const {
    const bool one_block = lanes.per_repeat <= LanesPerBlock();
    return lanes.full && (block_step == kBlockBytes || one_block) &&
           (repeat_step == DenseRepeatBytes(lanes) || lanes.repeats() <= 1);
}

Stream MakeStream(Access& access, const Operand& operand, const char* name, const BlockStride& stride,
                  std::int64_t max_block, std::int64_t max_repeat, std::uint64_t alignment) {
    access.RequireSpace(operand, name, Space::kUb);
    access.RequireAligned(operand, name, alignment);
    access.Require(stride.block >= 0 && stride.block <= max_block, "block stride", stride.block,
                   max_block == 255 ? "0..255" : "0..65535");
    access.Require(stride.repeat >= 0 && stride.repeat <= max_repeat, "repeat stride", stride.repeat,
                   max_repeat == 255    ? "0..255"
                   : max_repeat == 4095 ? "0..4095"
                                        : "0..65535");
    Stream stream;
    stream.operand = operand;
    stream.name = name;
    stream.bits = BitsOf(operand.dtype);
    stream.block_step = static_cast<std::uint64_t>(stride.block) * kBlockBytes;
    stream.repeat_step = static_cast<std::uint64_t>(stride.repeat) * kBlockBytes;
    return stream;
}

void RequireDstBlockStride(Access& access, const BlockStride& stride) {
    access.Require(stride.block != 0, "dstBlkStride", stride.block, "1 or more");
}

void RequireDType(Access& access, DType dtype, const DTypeSet& allowed, const char* name, const char* text) {
    access.Require(allowed.Has(dtype), name, static_cast<std::int64_t>(dtype), text);
}

void RequireSameDType(Access& access, const Operand& dst, const Operand& src, const char* name) {
    access.Require(dst.dtype == src.dtype, name, static_cast<std::int64_t>(src.dtype), "the element type of dst");
}

const std::byte* DeclareReads(Access& access, const Stream& stream, const Lanes& lanes) {
    access.Work(lanes.repeats());
    const std::byte* memory = nullptr;
    ForEachRegion(stream, lanes,
                  [&](const Region& region) { memory = access.Reads(stream.operand, stream.name, region); });
    return memory;
}

const std::byte* DeclareReadsToCarry(Access& access, const Stream& stream, const Lanes& lanes) {
    access.Work(lanes.repeats());
    const std::byte* memory = nullptr;
    ForEachRegion(stream, lanes,
                  [&](const Region& region) { memory = access.ReadsToCarry(stream.operand, stream.name, region); });
    return memory;
}

void CarryLanes(Access& access, const Stream& dst, const Stream& src, const Lanes& lanes) {
    if (!access.ChecksInitialisation()) {
        return;
    }
    const std::uint32_t per_block = dst.LanesPerBlock();
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        for (std::uint32_t lane = 0; lane < lanes.per_repeat;) {
            std::uint32_t end = lane;
            while (end < lanes.per_repeat && end / per_block == lane / per_block && lanes.Active(repeat, end)) {
                ++end;
            }
            if (end != lane) {
                access.Carries(dst.operand, dst.OffsetOf(repeat, lane), src.operand, src.OffsetOf(repeat, lane),
                               std::uint64_t{end - lane} * dst.bits / 8);
            }
            lane = end == lane ? lane + 1 : end;
        }
    }
}

std::byte* DeclareWrites(Access& access, const Stream& stream, const Lanes& lanes) {
    access.Work(lanes.repeats());
    std::byte* memory = nullptr;
    ForEachRegion(stream, lanes,
                  [&](const Region& region) { memory = access.Writes(stream.operand, stream.name, region); });
    return memory;
}

void UndefineLanes(Access& access, const Stream& stream, const Lanes& lanes) {
    ForEachRegion(stream, lanes, [&](const Region& region) { access.Undefines(stream.operand, region); });
}

void RequireOutsideReserved(Access& access, const Stream& stream, const Lanes& lanes, const char* allowed) {
    constexpr std::uint64_t kReservedFrom = 184 * 1024;
    const std::uint64_t last = stream.operand.address + stream.OffsetOf(lanes.repeats() - 1, 0);
    access.Require(last < kReservedFrom, stream.name, static_cast<std::int64_t>(last), allowed);
}

Mover::Mover(const Stream& stream, const Lanes& lanes)
    : body_repeats_(lanes.body), repeat_step_(stream.repeat_step), dense_step_(stream.DenseRepeatBytes(lanes)) {
    if (lanes.body != 0) {
        Fill(body_, stream, lanes.bits, lanes.per_repeat);
    }
    if (lanes.tail != 0) {
        Fill(tail_, stream, FirstBits(lanes.tail), lanes.per_repeat);
    }
    whole_blocks_ = std::all_of(body_.begin(), body_.end(), [](const Piece& p) { return p.bytes == kBlockBytes; });
}

void Mover::Fill(PieceList& pieces, const Stream& stream, const std::array<std::uint64_t, 2>& bits,
                 std::uint32_t lanes) {
    ForEachRun(bits, lanes, [&](std::uint32_t first, std::uint32_t count) {
        auto dense = static_cast<std::uint32_t>(std::uint64_t{first} * stream.bits / 8);
        ForEachPart(stream, first, count, [&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t blocks) {
            for (std::uint64_t block = 0; block < blocks; ++block) {
                const std::uint64_t memory = offset + block * stream.block_step;
                pieces.items[pieces.count++] = Piece{memory, dense, static_cast<std::uint32_t>(bytes)};
                dense += static_cast<std::uint32_t>(bytes);
            }
        });
    });
}

template <typename Copy>
void Mover::ForEach(std::uint64_t first, std::uint64_t count, Copy copy) const {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t repeat = first + i;
        const std::uint64_t memory = repeat * repeat_step_;
        const std::uint64_t dense = i * dense_step_;
        if (repeat >= body_repeats_) {
            for (const Piece& piece : tail_) {
                copy(memory + piece.memory, dense + piece.dense, piece.bytes);
            }
        } else if (whole_blocks_) {
            for (const Piece& piece : body_) {
                copy(memory + piece.memory, dense + piece.dense, kBlockBytes);
            }
        } else {
            for (const Piece& piece : body_) {
                copy(memory + piece.memory, dense + piece.dense, piece.bytes);
            }
        }
    }
}

void Mover::Gather(std::byte* dense, const std::byte* memory, std::uint64_t first, std::uint64_t count) const {
    ForEach(first, count, [=](std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
        std::memcpy(dense + to, memory + from, bytes);
    });
}

void Mover::Scatter(std::byte* memory, const std::byte* dense, std::uint64_t first, std::uint64_t count) const {
    ForEach(first, count, [=](std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
        std::memcpy(memory + to, dense + from, bytes);
    });
}

}  // namespace ascend_attention::sim
