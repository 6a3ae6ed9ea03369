// SPDX-License-Identifier: Apache-2.0
// Compare: one result bit per lane, packed without gaps whatever the destination strides say.
//
// On A2/A3 the forms with a destination ignore the mask (documented) and leave the mask register alone. Comparisons are
// IEEE: with a NaN only NE holds. int32 knows EQ only.
#include "core/core.h"
#include "vector/bit_lanes.h"
#include "vector/elementwise.h"
#include "vector/reduce.h"

namespace ascend_attention::sim {

namespace {

enum class Mode : std::uint8_t { kLess, kGreater, kEqual, kLessEqual, kGreaterEqual, kNotEqual };

#define ASCEND_SIM_COMPARE_LOOP(Name, T, Operator)                                                \
    ASCEND_SIM_CLONES void Name(std::uint8_t* flags, const T* a, const T* b, std::size_t count) { \
        ASCEND_SIM_NO_DEPENDENCE                                                                  \
        for (std::size_t i = 0; i < count; ++i) {                                                 \
            flags[i] = a[i] Operator b[i] ? 1 : 0;                                                \
        }                                                                                         \
    }

ASCEND_SIM_COMPARE_LOOP(Less, float, <)
ASCEND_SIM_COMPARE_LOOP(Greater, float, >)
ASCEND_SIM_COMPARE_LOOP(Equal, float, ==)
ASCEND_SIM_COMPARE_LOOP(LessEqual, float, <=)
ASCEND_SIM_COMPARE_LOOP(GreaterEqual, float, >=)
ASCEND_SIM_COMPARE_LOOP(NotEqual, float, !=)
ASCEND_SIM_COMPARE_LOOP(EqualInt, std::int32_t, ==)

void CompareFloats(std::uint8_t* flags, const float* a, const float* b, std::size_t count, Mode mode) {
    switch (mode) {
        case Mode::kLess:
            return Less(flags, a, b, count);
        case Mode::kGreater:
            return Greater(flags, a, b, count);
        case Mode::kEqual:
            return Equal(flags, a, b, count);
        case Mode::kLessEqual:
            return LessEqual(flags, a, b, count);
        case Mode::kGreaterEqual:
            return GreaterEqual(flags, a, b, count);
        default:
            return NotEqual(flags, a, b, count);
    }
}

// The kernels' scalar argument: the scalar operand in the low half, the mode in the high half.
Mode ModeOf(std::uint64_t scalar) { return static_cast<Mode>(scalar >> 32); }

// With one source the other side is the scalar. Counts are multiples of 8 here: whole repeats.
template <bool WithScalar>
void CompareFloatKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    std::uint8_t flags[kChunk];
    float other[kChunk];
    if (WithScalar) {
        std::fill_n(other, kChunk, ScalarAs<float>(scalar));
    }
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        const float* b = WithScalar ? other : As<float>(sources[WithScalar ? 0 : 1]) + i;
        CompareFloats(flags, As<float>(sources[0]) + i, b, n, ModeOf(scalar));
        PackBits(As<std::uint8_t>(dst) + i / 8, flags, n);
    }
}

template <bool WithScalar>
void CompareHalfKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    std::uint8_t flags[kChunk];
    float a[kChunk];
    float b[kChunk];
    if (WithScalar) {
        std::fill_n(b, kChunk, HalfToFloat(ScalarAs<std::uint16_t>(scalar)));
    }
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        if (!WithScalar) {
            HalfToFloat(b, As<std::uint16_t>(sources[1]) + i, n);
        }
        CompareFloats(flags, a, b, n, ModeOf(scalar));
        PackBits(As<std::uint8_t>(dst) + i / 8, flags, n);
    }
}

template <bool WithScalar>
void CompareIntKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    std::uint8_t flags[kChunk];
    std::int32_t other[kChunk];
    if (WithScalar) {
        std::fill_n(other, kChunk, ScalarAs<std::int32_t>(scalar));
    }
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        const std::int32_t* b = WithScalar ? other : As<std::int32_t>(sources[WithScalar ? 0 : 1]) + i;
        EqualInt(flags, As<std::int32_t>(sources[0]) + i, b, n);
        PackBits(As<std::uint8_t>(dst) + i / 8, flags, n);
    }
}

template <bool WithScalar>
LaneKernel KernelOf(DType dtype) {
    return dtype == DType::kFloat32   ? static_cast<LaneKernel>(CompareFloatKernel<WithScalar>)
           : dtype == DType::kFloat16 ? static_cast<LaneKernel>(CompareHalfKernel<WithScalar>)
                                      : static_cast<LaneKernel>(CompareIntKernel<WithScalar>);
}

constexpr DTypeSet kComparable(DType::kFloat16, DType::kFloat32, DType::kInt32);
constexpr DTypeSet kBytes(DType::kInt8, DType::kUint8);

void RequireComparable(Access& access, const VectorCall& call, std::uint8_t mode, bool two_sources) {
    RequireDType(access, call.src0.dtype, kComparable, "src0 dtype", "float16, float32, int32");
    if (two_sources) {
        RequireSameDType(access, call.src0, call.src1, "src1 dtype");
    }
    access.Require(mode <= 5, "cmpMode", mode, "a CMPMODE");
    access.Require(call.src0.dtype != DType::kInt32 || static_cast<Mode>(mode) == Mode::kEqual, "cmpMode", mode,
                   "EQ for int32");
}

// Whole repeats, whatever the mask says.
Lanes CompareLanes(Access& access, const VectorCall& call, std::uint32_t bits) {
    const std::uint32_t lanes = kRepeatBytes * 8 / bits;
    if (call.mask.form != MaskForm::kCount) {
        access.Require(call.repeat >= 0 && call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
        return FullLanes(static_cast<std::uint64_t>(call.repeat), lanes);
    }
    access.Require(call.mask.low < (std::uint64_t{1} << 31), "calCount", static_cast<std::int64_t>(call.mask.low),
                   ">= 0");
    access.Require(call.mask.low % lanes == 0, "calCount", static_cast<std::int64_t>(call.mask.low),
                   lanes == 64 ? "a multiple of 64: 256 bytes" : "a multiple of 128: 256 bytes");
    return FullLanes(call.mask.low / lanes, lanes);
}

void RunCompare(Access& access, const VectorCall& call, std::uint8_t mode, int source_count) {
    RequireComparable(access, call, mode, source_count == 2);
    RequireDType(access, call.dst.dtype, kBytes, "dst dtype", "int8, uint8");
    Stream sources[2];
    sources[0] = MakeStream(access, call.src0, "src0", call.src0_stride, 65535);
    if (source_count == 2) {
        sources[1] = MakeStream(access, call.src1, "src1", call.src1_stride);
    }
    const Lanes lanes = CompareLanes(access, call, sources[0].bits);
    Stream dst = MakeStream(access, call.dst, "dst", BlockStride{});
    dst.bits = 1;
    dst.repeat_step = lanes.per_repeat / 8;
    if (lanes.empty()) {
        return;
    }
    for (int i = 0; i < source_count; ++i) {
        CheckReduceOverlap(access, call.dst, dst.repeat_step, dst.repeat_step, sources[i], lanes);
    }
    const std::uint64_t scalar = (call.scalar & 0xFFFFFFFFU) | static_cast<std::uint64_t>(mode) << 32;
    const LaneKernel kernel = source_count == 2 ? KernelOf<false>(call.src0.dtype) : KernelOf<true>(call.src0.dtype);
    RunElementwise(access, lanes, dst, sources, source_count, kernel, scalar, false);
}

}  // namespace

void VectorCompare(const VectorCall& call, std::uint8_t compare_mode) {
    Access access(CurrentCore(), call.head);
    RunCompare(access, call, compare_mode, 2);
}

void VectorCompareScalar(const VectorCall& call, std::uint8_t compare_mode) {
    Access access(CurrentCore(), call.head);
    RunCompare(access, call, compare_mode, 1);
}

void VectorCompareToRegister(const VectorCall& call, std::uint8_t compare_mode) {
    Access access(CurrentCore(), call.head);
    RequireComparable(access, call, compare_mode, true);
    const Stream sources[2] = {MakeStream(access, call.src0, "src0", call.src0_stride),
                               MakeStream(access, call.src1, "src1", call.src1_stride)};
    const Lanes lanes = ResolveLanes(access, call.mask, 1, kRepeatBytes * 8 / sources[0].bits);
    access.Require(lanes.repeats() <= 1, "mask", static_cast<std::int64_t>(lanes.repeats()), "one repeat");
    if (lanes.empty()) {
        return;
    }
    alignas(64) std::byte dense[2][kRepeatBytes] = {};
    for (int i = 0; i < 2; ++i) {
        const std::byte* memory = DeclareReads(access, sources[i], lanes);
        Mover(sources[i], lanes).Gather(dense[i], memory, 0, 1);
    }
    const std::byte* pointers[2] = {dense[0], dense[1]};
    std::array<std::uint64_t, 2> bits{};
    KernelOf<false>(call.src0.dtype)(reinterpret_cast<std::byte*>(bits.data()), pointers,
                                     static_cast<std::uint64_t>(compare_mode) << 32, lanes.per_repeat);
    std::array<std::uint64_t, 2>& result = access.core().state.compare_mask;
    result = {0, 0};
    for (std::uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
        if (lanes.Active(0, lane)) {
            result[lane / 64] |= bits[lane / 64] & std::uint64_t{1} << (lane % 64);
        }
    }
}

void VectorGetCompareMask(const Call& head, const Operand& dst) {
    Access access(CurrentCore(), head);
    access.RequireSpace(dst, "dst", Space::kUb);
    access.RequireAligned(dst, "dst", 16);
    std::byte* out = access.Writes(dst, "dst", Region{0, 16, 1, 0, 1, 0});
    std::memcpy(out, access.core().state.compare_mask.data(), 16);
}

void VectorSetCompareMask(const Call& head, const Operand& src) {
    Access access(CurrentCore(), head);
    access.RequireSpace(src, "src", Space::kUb);
    access.RequireAligned(src, "src", 16);
    const std::byte* from = access.Reads(src, "src", Region{0, 16, 1, 0, 1, 0});
    std::memcpy(access.core().state.compare_mask.data(), from, 16);
}

}  // namespace ascend_attention::sim
