// SPDX-License-Identifier: Apache-2.0
// Cast: every pair of types and rounding mode that A2/A3 document. The rounding itself is in numerics/rounding.h.
//
// A repeat covers 256 bytes of the wider type; the narrower operand advances by fewer blocks. int4b_t packs two
// elements into a byte, the even one in the low half.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/core.h"
#include "numerics/rounding.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr unsigned kNoneBit = 1U << static_cast<unsigned>(Rounding::kNone);
constexpr unsigned kOddBit = 1U << static_cast<unsigned>(Rounding::kOdd);
constexpr unsigned kDirected =
    (1U << static_cast<unsigned>(Rounding::kRint)) | (1U << static_cast<unsigned>(Rounding::kFloor)) |
    (1U << static_cast<unsigned>(Rounding::kCeil)) | (1U << static_cast<unsigned>(Rounding::kRound)) |
    (1U << static_cast<unsigned>(Rounding::kTrunc));
constexpr unsigned kAnyMode = kDirected | kNoneBit | kOddBit;

// The scalar argument of a cast kernel: the mode, and Cast's scale for int32 to float16.
struct CastArguments {
    Rounding mode;
    float scale;
};

std::uint64_t Pack(const CastArguments& arguments) {
    return static_cast<std::uint64_t>(arguments.mode) | static_cast<std::uint64_t>(BitsOf(arguments.scale)) << 32;
}

CastArguments Unpack(std::uint64_t scalar) {
    return {static_cast<Rounding>(scalar & 0xFFU), FloatOf(static_cast<std::uint32_t>(scalar >> 32))};
}

// Loads `count` elements from element `first` of a source as exact float values.
using Load = void (*)(float* to, const std::byte* from, std::size_t first, std::size_t count);
using Store = void (*)(std::byte* to, float* from, std::size_t first, std::size_t count, Rounding mode);

void LoadHalf(float* to, const std::byte* from, std::size_t first, std::size_t count) {
    HalfToFloat(to, As<std::uint16_t>(from) + first, count);
}

void LoadBfloat(float* to, const std::byte* from, std::size_t first, std::size_t count) {
    BfloatToFloat(to, As<std::uint16_t>(from) + first, count);
}

void LoadFloat(float* to, const std::byte* from, std::size_t first, std::size_t count) {
    std::memcpy(to, As<float>(from) + first, count * sizeof(float));
}

template <typename T>
void LoadInteger(float* to, const std::byte* from, std::size_t first, std::size_t count) {
    const T* values = As<T>(from) + first;
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<float>(values[i]);
    }
}

void LoadInt4(float* to, const std::byte* from, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t element = first + i;
        const auto byte = std::to_integer<unsigned>(from[element / 2]);
        const unsigned nibble = element % 2 == 0 ? byte & 0xFU : byte >> 4;
        to[i] = static_cast<float>(nibble >= 8 ? static_cast<int>(nibble) - 16 : static_cast<int>(nibble));
    }
}

void StoreHalf(std::byte* to, float* from, std::size_t first, std::size_t count, Rounding mode) {
    FloatToHalf(As<std::uint16_t>(to) + first, from, count, mode);
}

// Without a mode the source is exact in float.
void StoreFloat(std::byte* to, float* from, std::size_t first, std::size_t count, Rounding mode) {
    if (mode == Rounding::kNone) {
        std::memcpy(As<float>(to) + first, from, count * sizeof(float));
    } else {
        RoundToIntegral(As<float>(to) + first, from, count, mode);
    }
}

template <typename T, void (*Convert)(T*, const float*, std::size_t)>
void StoreInteger(std::byte* to, float* from, std::size_t first, std::size_t count, Rounding mode) {
    RoundToIntegral(from, from, count, mode);
    Convert(As<T>(to) + first, from, count);
}

void StoreInt4(std::byte* to, float* from, std::size_t first, std::size_t count, Rounding mode) {
    RoundToIntegral(from, from, count, mode);
    std::int8_t values[kChunk];
    for (std::size_t i = 0; i < count; ++i) {
        const float bounded = from[i] < -8.0F ? -8.0F : from[i] > 7.0F ? 7.0F : from[i];
        values[i] = static_cast<std::int8_t>(bounded == bounded ? bounded : 0.0F);
    }
    for (std::size_t i = 0; i < count; i += 2) {
        const auto low = static_cast<unsigned>(values[i]) & 0xFU;
        const auto high = static_cast<unsigned>(values[i + 1]) & 0xFU;
        to[(first + i) / 2] = static_cast<std::byte>(low | high << 4);
    }
}

// The chunk is read before it is written, so a narrowing cast may run in place.
template <Load Read, Store Write>
void ThroughFloat(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    const Rounding mode = Unpack(scalar).mode;
    float values[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        Read(values, sources[0], i, n);
        Write(dst, values, i, n, mode);
    }
}

// The everyday narrowing. Writes trail reads, so these too may run in place.
void FloatToHalfKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    FloatToHalf(As<std::uint16_t>(dst), As<float>(sources[0]), count, Unpack(scalar).mode);
}

void FloatToBfloatKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    FloatToBfloat(As<std::uint16_t>(dst), As<float>(sources[0]), count, Unpack(scalar).mode);
}

void HalfToFloatKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    HalfToFloat(As<float>(dst), As<std::uint16_t>(sources[0]), count);
}

void BfloatToFloatKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    BfloatToFloat(As<float>(dst), As<std::uint16_t>(sources[0]), count);
}

void Int32ToHalfKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    ScaleInt32ToHalf(As<std::uint16_t>(dst), As<std::int32_t>(sources[0]), count, Unpack(scalar).scale);
}

void Int32ToFloatKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    Int32ToFloat(As<float>(dst), As<std::int32_t>(sources[0]), count, Unpack(scalar).mode);
}

void Int64ToFloatKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    Int64ToFloat(As<float>(dst), As<std::int64_t>(sources[0]), count, Unpack(scalar).mode);
}

template <typename To, typename From>
void SaturateKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    constexpr From low = std::numeric_limits<To>::min();
    constexpr From high = std::numeric_limits<To>::max();
    const From* from = As<From>(sources[0]);
    for (std::size_t i = 0; i < count; ++i) {
        As<To>(dst)[i] = static_cast<To>(std::min(std::max(from[i], low), high));
    }
}

void WidenInt32(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        As<std::int64_t>(dst)[i] = As<std::int32_t>(sources[0])[i];
    }
}

struct CastRule {
    DType src;
    DType dst;
    unsigned modes;
    LaneKernel kernel;
};

constexpr Store kStoreInt8 = StoreInteger<std::int8_t, IntegralToInt8>;
constexpr Store kStoreUint8 = StoreInteger<std::uint8_t, IntegralToUint8>;
constexpr Store kStoreInt16 = StoreInteger<std::int16_t, IntegralToInt16>;
constexpr Store kStoreInt32 = StoreInteger<std::int32_t, IntegralToInt32>;
constexpr Store kStoreInt64 = StoreInteger<std::int64_t, IntegralToInt64>;

const CastRule kRules[] = {
    {DType::kInt4, DType::kFloat16, kNoneBit, ThroughFloat<LoadInt4, StoreHalf>},
    {DType::kInt8, DType::kFloat16, kNoneBit, ThroughFloat<LoadInteger<std::int8_t>, StoreHalf>},
    {DType::kUint8, DType::kFloat16, kNoneBit, ThroughFloat<LoadInteger<std::uint8_t>, StoreHalf>},
    {DType::kInt16, DType::kFloat16, kDirected | kNoneBit, ThroughFloat<LoadInteger<std::int16_t>, StoreHalf>},
    {DType::kInt16, DType::kFloat32, kNoneBit, ThroughFloat<LoadInteger<std::int16_t>, StoreFloat>},
    {DType::kFloat16, DType::kInt4, kDirected | kNoneBit, ThroughFloat<LoadHalf, StoreInt4>},
    {DType::kFloat16, DType::kInt8, kDirected | kNoneBit, ThroughFloat<LoadHalf, kStoreInt8>},
    {DType::kFloat16, DType::kUint8, kDirected | kNoneBit, ThroughFloat<LoadHalf, kStoreUint8>},
    {DType::kFloat16, DType::kInt16, kDirected, ThroughFloat<LoadHalf, kStoreInt16>},
    {DType::kFloat16, DType::kInt32, kDirected, ThroughFloat<LoadHalf, kStoreInt32>},
    {DType::kFloat16, DType::kFloat32, kNoneBit, HalfToFloatKernel},
    {DType::kBfloat16, DType::kInt32, kDirected, ThroughFloat<LoadBfloat, kStoreInt32>},
    {DType::kBfloat16, DType::kFloat32, kNoneBit, BfloatToFloatKernel},
    {DType::kInt32, DType::kInt16, kNoneBit, SaturateKernel<std::int16_t, std::int32_t>},
    {DType::kInt32, DType::kFloat16, kAnyMode, Int32ToHalfKernel},
    {DType::kInt32, DType::kFloat32, kDirected | kNoneBit, Int32ToFloatKernel},
    {DType::kInt32, DType::kInt64, kNoneBit, WidenInt32},
    {DType::kFloat32, DType::kInt16, kDirected, ThroughFloat<LoadFloat, kStoreInt16>},
    {DType::kFloat32, DType::kFloat16, kAnyMode, FloatToHalfKernel},
    {DType::kFloat32, DType::kBfloat16, kDirected, FloatToBfloatKernel},
    {DType::kFloat32, DType::kInt32, kDirected, ThroughFloat<LoadFloat, kStoreInt32>},
    {DType::kFloat32, DType::kFloat32, kDirected, ThroughFloat<LoadFloat, StoreFloat>},
    {DType::kFloat32, DType::kInt64, kDirected, ThroughFloat<LoadFloat, kStoreInt64>},
    {DType::kInt64, DType::kInt32, kNoneBit, SaturateKernel<std::int32_t, std::int64_t>},
    {DType::kInt64, DType::kFloat32, kDirected, Int64ToFloatKernel},
};

const CastRule* FindRule(DType src, DType dst) {
    for (const CastRule& rule : kRules) {
        if (rule.src == src && rule.dst == dst) {
            return &rule;
        }
    }
    return nullptr;
}

// Both elements of a byte take part or neither does.
void RequireWholeBytes(Access& access, const Lanes& lanes) {
    access.Require(lanes.tail % 2 == 0, "calCount", static_cast<std::int64_t>(lanes.tail),
                   "an even number of int4b_t elements");
    for (const std::uint64_t bits : lanes.bits) {
        access.Require(((bits ^ bits >> 1) & 0x5555555555555555U) == 0, "mask", static_cast<std::int64_t>(bits),
                       "equal bits for the two int4b_t elements of a byte");
    }
}

// A repeat reads all of its lanes before it writes one. The overlap rule has left a single repeat.
void WidenInPlace(Access& access, const Lanes& lanes, const Stream& dst, const Stream& src, LaneKernel kernel,
                  std::uint64_t scalar) {
    if (lanes.empty()) {
        return;
    }
    const std::byte* memory = DeclareReads(access, src, lanes);
    std::byte* out = DeclareWrites(access, dst, lanes);
    std::uint32_t last = lanes.per_repeat - 1;
    while (!lanes.Active(0, last)) {
        --last;
    }
    const std::vector<std::byte> copy(memory, memory + src.OffsetOf(0, last) / kBlockBytes * kBlockBytes + kBlockBytes);
    const std::byte* const from = copy.data();
    ComputeLanes(lanes, dst, out, &src, &from, 1, kernel, scalar, false);
}

}  // namespace

void VectorCast(const VectorCall& call, std::uint8_t round_mode) {
    Access access(CurrentCore(), call.head);
    const CastRule* rule = FindRule(call.src0.dtype, call.dst.dtype);
    access.Require(rule != nullptr, "src and dst dtype",
                   static_cast<std::int64_t>(call.src0.dtype) * 100 + static_cast<std::int64_t>(call.dst.dtype),
                   "a pair that Cast converts between on A2/A3");
    access.Require(round_mode <= 6 && (rule->modes >> round_mode & 1U) != 0, "round_mode", round_mode,
                   rule->modes == kNoneBit   ? "CAST_NONE for this pair of types"
                   : rule->modes == kAnyMode ? "CAST_NONE..CAST_ODD"
                   : (rule->modes & kNoneBit) != 0
                       ? "CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC for this pair of types"
                       : "CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC for this pair of types");
    if (rule->kernel == Int32ToHalfKernel) {
        access.Require(access.core().state.dequantisation.kind == DequantisationState::Kind::kHalf, "SetDeqScale form",
                       1, "SetDeqScale(half), the form for int32 to float16");
    }
    RequireDstBlockStride(access, call.dst_stride);
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 65535);
    const Stream src = MakeStream(access, call.src0, "src", call.src0_stride, 65535);
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / std::max(dst.bits, src.bits));
    if (dst.bits == 4 || src.bits == 4) {
        RequireWholeBytes(access, lanes);
    }
    CheckOverlap(access, dst, src, lanes, dst.bits == src.bits ? Overlap::kInPlace : Overlap::kConverting);
    const CastArguments arguments{static_cast<Rounding>(round_mode), access.core().state.deq_scale};
    if (dst.bits > src.bits && call.dst.address == call.src0.address) {
        WidenInPlace(access, lanes, dst, src, rule->kernel, Pack(arguments));
        return;
    }
    RunElementwise(access, lanes, dst, &src, 1, rule->kernel, Pack(arguments), false);
}

}  // namespace ascend_attention::sim
