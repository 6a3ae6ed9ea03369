// SPDX-License-Identifier: Apache-2.0
// Which elements a vector instruction touches, said once and used three times: to declare them (Access), to check that
// operands overlap only as documented, and to gather them into dense arrays for the element loops.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/access.h"
#include "core/dtype.h"
#include "machine/vector_calls.h"

namespace ascend_attention::sim {

inline constexpr std::uint32_t kBlockBytes = 32;
inline constexpr std::uint32_t kRepeatBytes = 256;
inline constexpr std::uint32_t kMaxLanes = 128;

// A set of element types, for the legality rule of each instruction.
class DTypeSet {
public:
    template <typename... Types>
    constexpr explicit DTypeSet(Types... types) : bits_((... | (1U << static_cast<unsigned>(types)))) {}
    constexpr bool Has(DType dtype) const { return (bits_ >> static_cast<unsigned>(dtype) & 1U) != 0; }

private:
    std::uint32_t bits_;
};

// The active lanes of an instruction: `body` repeats with the lanes of `bits`, then, in counter mode, one more repeat
// of which only the first `tail` lanes are active.
struct Lanes {
    std::uint32_t per_repeat = 0;
    std::uint64_t body = 0;
    std::uint32_t tail = 0;
    std::array<std::uint64_t, 2> bits{};
    bool full = false;  // every lane of the body is active

    std::uint64_t repeats() const { return body + (tail != 0 ? 1 : 0); }
    bool empty() const { return repeats() == 0; }
    bool Active(std::uint32_t lane) const { return (bits[lane / 64] >> (lane % 64) & 1U) != 0; }
    bool Active(std::uint64_t repeat, std::uint32_t lane) const { return repeat < body ? Active(lane) : lane < tail; }
};

// Reads the mask argument or register, checks it, and leaves the register as the call leaves it.
// `lanes` is the number of elements of a full repeat.
Lanes ResolveLanes(Access& access, const VectorMask& mask, std::int64_t repeat, std::uint32_t lanes);
// `count` elements, or all lanes of `repeat` repeats, without looking at the mask.
Lanes CountLanes(std::uint64_t count, std::uint32_t lanes);
Lanes FullLanes(std::uint64_t repeats, std::uint32_t lanes);

// An operand as the lanes address it. Steps are in bytes.
struct Stream {
    Operand operand{};
    const char* name = "";
    std::uint32_t bits = 0;  // per element
    std::uint64_t block_step = kBlockBytes;
    std::uint64_t repeat_step = kRepeatBytes;

    std::uint32_t LanesPerBlock() const { return kBlockBytes * 8 / bits; }
    // Byte offset of a lane from the operand's address.
    std::uint64_t OffsetOf(std::uint64_t repeat, std::uint32_t lane) const {
        return repeat * repeat_step + lane / LanesPerBlock() * block_step +
               std::uint64_t{lane % LanesPerBlock()} * bits / 8;
    }
    std::uint64_t DenseRepeatBytes(const Lanes& lanes) const { return lanes.per_repeat * bits / 8; }
    // All active lanes form one contiguous range.
    bool Contiguous(const Lanes& lanes) const;
};

// Checks memory, alignment and stride ranges: the address `alignment`, steps up to `max_block` and `max_repeat` blocks.
Stream MakeStream(Access& access, const Operand& operand, const char* name, const BlockStride& stride,
                  std::int64_t max_block = 255, std::int64_t max_repeat = 255, std::uint64_t alignment = kBlockBytes);
// A destination block stride of 0 would write the blocks of a repeat over each other.
void RequireDstBlockStride(Access& access, const BlockStride& stride);
void RequireDType(Access& access, DType dtype, const DTypeSet& allowed, const char* name, const char* text);
void RequireSameDType(Access& access, const Operand& dst, const Operand& src, const char* name);

const std::byte* DeclareReads(Access& access, const Stream& stream, const Lanes& lanes);
// For instructions that only move values: undefined ones move along (CarryLanes, after the write was declared).
const std::byte* DeclareReadsToCarry(Access& access, const Stream& stream, const Lanes& lanes);
void CarryLanes(Access& access, const Stream& dst, const Stream& src, const Lanes& lanes);
std::byte* DeclareWrites(Access& access, const Stream& stream, const Lanes& lanes);

// For instructions whose operands must not share memory at all.
void RequireApart(Access& access, const Operand& dst, std::uint64_t dst_bytes, const Operand& src, const char* name,
                  std::uint64_t src_bytes);

// Lanes that a DeclareWrites named and that hold nothing afterwards.
void UndefineLanes(Access& access, const Stream& stream, const Lanes& lanes);

// The library keeps temporary data of some calls in the last 8 KiB of UB: operands must lie below.
void RequireOutsideReserved(Access& access, const Stream& stream, const Lanes& lanes, const char* allowed);

// How a source may lie over the destination.
//   kInPlace   the same lanes at the same places, repeat by repeat
//   kConverting also: the destination starts where the source starts and differs in width. A narrower one may run over
//              several repeats, because none reads what an earlier one wrote (CANN's own library does this)
//   kAccumulate also: repeats chain through the destination. Documented for src1 == dst of a few instructions.
//   kNone      not at all
enum class Overlap : std::uint8_t { kNone, kInPlace, kConverting, kAccumulate };
// Returns true when repeats must run one after the other (an accumulation).
bool CheckOverlap(Access& access, const Stream& dst, const Stream& src, const Lanes& lanes, Overlap allowed);

// Moves lanes between strided memory and dense arrays. Dense arrays keep inactive lanes as gaps, so that lane l of
// repeat r is always element r * per_repeat + l.
class Mover {
public:
    Mover(const Stream& stream, const Lanes& lanes);

    void Gather(std::byte* dense, const std::byte* memory, std::uint64_t first, std::uint64_t count) const;
    void Scatter(std::byte* memory, const std::byte* dense, std::uint64_t first, std::uint64_t count) const;

private:
    struct Piece {
        std::uint64_t memory;  // offset within a repeat in memory
        std::uint32_t dense;   // and in the dense array
        std::uint32_t bytes;
    };
    // A mask of 128 lanes has at most 64 runs; block boundaries add 7 pieces. No heap: this runs per instruction.
    struct PieceList {
        std::array<Piece, 80> items;
        std::uint32_t count = 0;
        const Piece* begin() const { return items.data(); }
        const Piece* end() const { return items.data() + count; }
    };
    static void Fill(PieceList& pieces, const Stream& stream, const std::array<std::uint64_t, 2>& bits,
                     std::uint32_t lanes);
    template <typename Copy>
    void ForEach(std::uint64_t first, std::uint64_t count, Copy copy) const;

    PieceList body_;
    PieceList tail_;
    bool whole_blocks_ = false;  // every piece of the body is a full block
    std::uint64_t body_repeats_ = 0;
    std::uint64_t repeat_step_ = 0;
    std::uint64_t dense_step_ = 0;
};

}  // namespace ascend_attention::sim
