// SPDX-License-Identifier: Apache-2.0
// GatherMask: the elements whose pattern bit is set, packed one after another.
//
// Normal mode takes 256 bytes of the source per repeat; counter mode takes `mask` elements per repeat. A pattern tensor
// is used bit by bit from its start in every repeat, which is where src1RepeatStride moves it.
#include <vector>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr DTypeSet kWords(DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kInt16, DType::kUint16,
                          DType::kInt32, DType::kUint32);

// Built-in patterns 1 to 7: which of four neighbouring elements are kept.
constexpr std::uint8_t kPatterns[8] = {0, 0b0101, 0b1010, 0b0001, 0b0010, 0b0100, 0b1000, 0b1111};

DType PatternType(DType dtype) { return BitsOf(dtype) == 16 ? DType::kUint16 : DType::kUint32; }

// Where the source, the pattern and their repeats lie.
struct Pick {
    Stream src{};
    std::uint64_t element_bytes = 0;
    std::uint64_t per_repeat = 0;
    bool from_tensor = false;
};

void RequireOperands(Access& access, const GatherMaskCall& call) {
    RequireDType(access, call.dst.dtype, kWords, "dst dtype",
                 "float16, bfloat16, float32, int16, uint16, int32, uint32");
    RequireSameDType(access, call.dst, call.src0, "src0 dtype");
    access.Require(call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
    access.RequireSpace(call.dst, "dst", Space::kUb);
    access.RequireAligned(call.dst, "dst", kBlockBytes);
    // A pattern tensor, one bit for each element, has to fit into UB; so does what is kept, at least one element in
    // four.
    const std::uint64_t most = 8 * access.core().memory_bytes(Space::kUb);
    access.Require(!call.counter || (call.mask >= 1 && call.mask <= most), "mask", call.mask,
                   "1 or more in counter mode, and what UB has room for");
    if (call.pattern != 0) {
        access.Require(call.pattern <= 7, "src1Pattern", call.pattern == UINT8_MAX ? 0 : call.pattern, "1..7");
        return;
    }
    access.RequireSpace(call.src1, "src1Pattern", Space::kUb);
    access.RequireAligned(call.src1, "src1Pattern", kBlockBytes);
    access.Require(call.src1.dtype == PatternType(call.src0.dtype), "src1Pattern dtype",
                   static_cast<std::int64_t>(call.src1.dtype), "uint16 for 16-bit, uint32 for 32-bit elements");
}

// Byte offsets of the kept elements in the source, in order.
std::vector<std::uint64_t> KeptOffsets(Access& access, const GatherMaskCall& call, const Pick& pick) {
    const std::uint64_t pattern_step = std::uint64_t{call.src1_repeat_stride} * kBlockBytes;
    const std::uint8_t* pattern = nullptr;
    if (pick.from_tensor) {
        const Region bits{0, (pick.per_repeat + 7) / 8, call.repeat, pattern_step, 1, 0};
        pattern = As<std::uint8_t>(access.Reads(call.src1, "src1Pattern", bits));
    }
    std::vector<std::uint64_t> kept;
    // One more than fits: dst is refused then, and the rest need not be known. A repeat stride of 0 takes no more
    // memory.
    const std::uint64_t most = access.core().memory_bytes(Space::kUb) / pick.element_bytes + 1;
    for (std::uint64_t repeat = 0; repeat < call.repeat; ++repeat) {
        for (std::uint64_t element = 0; element < pick.per_repeat && kept.size() < most; ++element) {
            const bool keep = pick.from_tensor
                                  ? (pattern[repeat * pattern_step + element / 8] >> (element % 8) & 1U) != 0
                                  : (kPatterns[call.pattern] >> (element % 4) & 1U) != 0;
            if (keep) {
                kept.push_back(repeat * pick.src.repeat_step +
                               element / pick.src.LanesPerBlock() * pick.src.block_step +
                               element % pick.src.LanesPerBlock() * pick.element_bytes);
            }
        }
    }
    return kept;
}

// Every element of the range is fetched; only the kept ones matter for what is defined.
void DeclareFetch(Access& access, const GatherMaskCall& call, const Pick& pick) {
    const std::uint64_t blocks = pick.per_repeat / pick.src.LanesPerBlock();
    const std::uint64_t rest = pick.per_repeat % pick.src.LanesPerBlock() * pick.element_bytes;
    for (std::uint64_t repeat = 0; repeat < call.repeat; ++repeat) {
        const std::uint64_t base = repeat * pick.src.repeat_step;
        if (blocks != 0) {
            access.ReadsToCarry(call.src0, "src0", Region{base, kBlockBytes, blocks, pick.src.block_step, 1, 0});
        }
        if (rest != 0) {
            access.ReadsToCarry(call.src0, "src0", Region{base + blocks * pick.src.block_step, rest, 1, 0, 1, 0});
        }
    }
}

void Pack(Access& access, const GatherMaskCall& call, const std::vector<std::uint64_t>& kept, std::uint64_t bytes) {
    std::byte* out = access.Writes(call.dst, "dst", Region{0, kept.size() * bytes, 1, 0, 1, 0});
    const std::byte* from = access.core().memory(Space::kUb) + call.src0.address;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        std::memmove(out + i * bytes, from + kept[i], bytes);
        if (access.ChecksInitialisation()) {
            access.Carries(call.dst, i * bytes, call.src0, kept[i], bytes);
        }
    }
}

}  // namespace

std::uint64_t VectorGatherMask(const GatherMaskCall& call) {
    Access access(CurrentCore(), call.head);
    MaskState& mask_state = access.core().state.mask;
    // The call sets its own mode and mask and leaves normal mode behind.
    mask_state.counter_mode = false;
    mask_state.specified = false;
    RequireOperands(access, call);
    Pick pick;
    pick.src =
        MakeStream(access, call.src0, "src0", BlockStride{call.src0_block_stride, call.src0_repeat_stride}, 255, 65535);
    pick.element_bytes = pick.src.bits / 8;
    pick.per_repeat = call.counter ? call.mask : kRepeatBytes * 8 / pick.src.bits;
    pick.from_tensor = call.pattern == 0;
    access.core().state.gathered_count = 0;
    if (call.repeat == 0) {
        return 0;
    }
    access.Looks();
    DeclareFetch(access, call, pick);
    const std::vector<std::uint64_t> kept = KeptOffsets(access, call, pick);
    access.core().state.gathered_count = kept.size();
    if (kept.empty()) {
        return 0;
    }
    // Packing runs forward, so the destination may lie on the source or before it; starting inside a later part of the
    // source it would overwrite elements not fetched yet.
    const std::uint64_t src_end = call.src0.address + kept.back() + pick.element_bytes;
    access.Require(call.dst.address <= call.src0.address || call.dst.address >= src_end, "dst",
                   static_cast<std::int64_t>(call.dst.address), "at or before src0, or behind it");
    Pack(access, call, kept, pick.element_bytes);
    return kept.size();
}

}  // namespace ascend_attention::sim
