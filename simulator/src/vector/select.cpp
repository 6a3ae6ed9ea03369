// SPDX-License-Identifier: Apache-2.0
// Select: a bit per lane chooses between src0 and src1 (or a scalar).
//
// A lane that is not chosen has no influence, so Select is a carrier: an undefined value behind a 0 bit is fine.
#include "core/core.h"
#include "vector/bit_lanes.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr const char* kBelowReserved = "below byte 188416: modes 1 and 2 keep temporary data in the last 8 KiB of UB";

#define ASCEND_SIM_SELECT_LOOP(Name, T)                                                                       \
    ASCEND_SIM_CLONES void Name(T* d, const std::uint8_t* flags, const T* a, const T* b, std::size_t count) { \
        ASCEND_SIM_NO_DEPENDENCE                                                                              \
        for (std::size_t i = 0; i < count; ++i) {                                                             \
            const T keep = static_cast<T>(T{0} - T{flags[i]});                                                \
            d[i] = static_cast<T>((a[i] & keep) | (b[i] & static_cast<T>(~keep)));                            \
        }                                                                                                     \
    }

ASCEND_SIM_SELECT_LOOP(Choose16, std::uint16_t)
ASCEND_SIM_SELECT_LOOP(Choose32, std::uint32_t)

// Sources: src0, then src1 or nothing (the scalar), dense. `bits` holds one bit per element from the first on.
template <typename T, void (*Choose)(T*, const std::uint8_t*, const T*, const T*, std::size_t)>
void SelectDense(std::byte* dst, const std::byte* src0, const std::byte* src1, std::uint64_t scalar,
                 const std::uint8_t* bits, std::size_t count) {
    std::uint8_t flags[kChunk];
    T fixed[kChunk];
    if (src1 == nullptr) {
        std::fill_n(fixed, std::min(kChunk, count), ScalarAs<T>(scalar));
    }
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        UnpackBits(flags, bits + i / 8, n);
        Choose(As<T>(dst) + i, flags, As<T>(src0) + i, src1 == nullptr ? fixed : As<T>(src1) + i, n);
    }
}

struct Selection {
    const VectorCall& call;
    Lanes lanes;
    Stream dst;
    Stream src[2];
    int source_count = 2;
    std::uint64_t scalar = 0;
    const std::uint8_t* bits = nullptr;
    std::uint64_t bits_step = 0;  // bytes per repeat; 0: the same bits again

    const std::uint8_t* BitsOfRepeat(std::uint64_t repeat) const { return bits + repeat * bits_step; }
};

void SelectElements(const Selection& s, std::byte* dst, const std::byte* src0, const std::byte* src1,
                    const std::uint8_t* bits, std::size_t count) {
    if (s.dst.bits == 16) {
        SelectDense<std::uint16_t, Choose16>(dst, src0, src1, s.scalar, bits, count);
    } else {
        SelectDense<std::uint32_t, Choose32>(dst, src0, src1, s.scalar, bits, count);
    }
}

void Compute(const Selection& s, std::byte* out, const std::byte* const* memory) {
    const Lanes& lanes = s.lanes;
    bool contiguous = s.dst.Contiguous(lanes) && (s.bits_step != 0 || lanes.repeats() == 1);
    for (int i = 0; i < s.source_count; ++i) {
        contiguous = contiguous && s.src[i].Contiguous(lanes);
    }
    if (contiguous) {
        SelectElements(s, out, memory[0], s.source_count == 2 ? memory[1] : nullptr, s.bits,
                       lanes.body * lanes.per_repeat + lanes.tail);
        return;
    }
    alignas(64) std::byte dense[3][kRepeatBytes] = {};
    const Mover first(s.src[0], lanes);
    const Mover second(s.src[s.source_count - 1], lanes);
    const Mover to(s.dst, lanes);
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        first.Gather(dense[0], memory[0], repeat, 1);
        if (s.source_count == 2) {
            second.Gather(dense[1], memory[1], repeat, 1);
        }
        const std::size_t count = repeat < lanes.body ? lanes.per_repeat : lanes.tail;
        SelectElements(s, dense[2], dense[0], s.source_count == 2 ? dense[1] : nullptr, s.BitsOfRepeat(repeat), count);
        to.Scatter(out, dense[2], repeat, 1);
    }
}

// Where the chosen value was undefined, so is the result.
void Carry(Access& access, const Selection& s) {
    if (!access.ChecksInitialisation()) {
        return;
    }
    const std::uint64_t bytes = s.dst.bits / 8;
    for (std::uint64_t repeat = 0; repeat < s.lanes.repeats(); ++repeat) {
        const std::uint8_t* bits = s.BitsOfRepeat(repeat);
        for (std::uint32_t lane = 0; lane < s.lanes.per_repeat; ++lane) {
            const int source = (bits[lane / 8] >> (lane % 8) & 1U) != 0 ? 0 : 1;
            if (s.lanes.Active(repeat, lane) && source < s.source_count) {
                access.Carries(s.dst.operand, s.dst.OffsetOf(repeat, lane), s.src[source].operand,
                               s.src[source].OffsetOf(repeat, lane), bytes);
            }
        }
    }
}

// The selector bytes that the active lanes use.
const std::uint8_t* DeclareBits(Access& access, const Operand& selector, const Selection& s) {
    std::uint32_t first = s.lanes.per_repeat;
    std::uint32_t last = 0;
    for (std::uint32_t lane = 0; lane < s.lanes.per_repeat; ++lane) {
        if (s.lanes.Active(0, lane)) {
            first = std::min(first, lane);
            last = lane;
        }
    }
    const std::byte* memory = nullptr;
    if (s.lanes.body != 0) {
        const std::uint64_t repeats = s.bits_step == 0 ? 1 : s.lanes.body;
        memory =
            access.Reads(selector, "selMask", Region{first / 8, last / 8 - first / 8 + 1, repeats, s.bits_step, 1, 0});
    }
    if (s.lanes.tail != 0) {
        memory = access.Reads(selector, "selMask",
                              Region{s.lanes.body * s.bits_step, (std::uint64_t{s.lanes.tail} + 7) / 8, 1, 0, 1, 0});
    }
    return As<std::uint8_t>(memory);
}

constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);
constexpr DTypeSet kSelectors(DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64);

}  // namespace

void VectorSelect(const VectorCall& call, const Operand& selector, SelectSource source) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    RequireSameDType(access, call.dst, call.src0, "src0 dtype");
    RequireDstBlockStride(access, call.dst_stride);
    const bool has_scalar = source == SelectSource::kScalar || source == SelectSource::kRegisterScalar;
    Selection s{call,    {}, MakeStream(access, call.dst, "dst", call.dst_stride), {}, has_scalar ? 1 : 2, call.scalar,
                nullptr, 0};
    s.src[0] = MakeStream(access, call.src0, "src0", call.src0_stride);
    if (!has_scalar) {
        RequireSameDType(access, call.dst, call.src1, "src1 dtype");
        s.src[1] = MakeStream(access, call.src1, "src1", call.src1_stride);
    }
    if (source != SelectSource::kRegister) {
        RequireDType(access, selector.dtype, kSelectors, "selMask dtype", "uint8, uint16, uint32, uint64");
        access.RequireSpace(selector, "selMask", Space::kUb);
        access.RequireAligned(selector, "selMask", kBlockBytes);
    }
    s.lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / s.dst.bits);
    if (s.lanes.empty()) {
        return;
    }
    if (source == SelectSource::kScalar || source == SelectSource::kTensor) {
        RequireOutsideReserved(access, s.dst, s.lanes, kBelowReserved);
        for (int i = 0; i < s.source_count; ++i) {
            RequireOutsideReserved(access, s.src[i], s.lanes, kBelowReserved);
        }
    }
    for (int i = 0; i < s.source_count; ++i) {
        CheckOverlap(access, s.dst, s.src[i], s.lanes, Overlap::kInPlace);
    }
    const MachineState& state = access.core().state;
    if (source == SelectSource::kRegisterScalar) {
        s.scalar = state.compare_mask[0];
    }
    if (source == SelectSource::kRegister) {
        s.bits = reinterpret_cast<const std::uint8_t*>(state.compare_mask.data());
    } else {
        s.bits_step = source == SelectSource::kSameBits ? 0 : s.lanes.per_repeat / 8;
        s.bits = DeclareBits(access, selector, s);
    }
    const std::byte* memory[2] = {};
    for (int i = 0; i < s.source_count; ++i) {
        memory[i] = DeclareReadsToCarry(access, s.src[i], s.lanes);
    }
    std::byte* out = DeclareWrites(access, s.dst, s.lanes);
    Carry(access, s);
    Compute(s, out, memory);
}

}  // namespace ascend_attention::sim
