// SPDX-License-Identifier: Apache-2.0
// Instructions with one source and a scalar.
//
// Integers wrap around on overflow, as in binary.cpp. A signed ShiftLeft keeps the sign bit and shifts the others;
// ShiftRight copies the sign, and with roundEn adds the last bit shifted out. Axpy rounds the product to float32 before
// the sum.
#include <type_traits>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

#define ASCEND_SIM_FLOAT_LOOP(Name, Expression)                                          \
    ASCEND_SIM_CLONES void Name(float* d, const float* a, float scalar, std::size_t n) { \
        ASCEND_SIM_NO_DEPENDENCE                                                         \
        for (std::size_t i = 0; i < n; ++i) {                                            \
            const float x = a[i];                                                        \
            d[i] = Expression;                                                           \
        }                                                                                \
    }

ASCEND_SIM_FLOAT_LOOP(AddsFloat, x + scalar)
ASCEND_SIM_FLOAT_LOOP(MulsFloat, x* scalar)
ASCEND_SIM_FLOAT_LOOP(MaxsFloat, Maximum(x, scalar))
ASCEND_SIM_FLOAT_LOOP(MinsFloat, Minimum(x, scalar))
ASCEND_SIM_FLOAT_LOOP(LeakyReluFloat, x >= 0.0F ? x : x * scalar)

ASCEND_SIM_CLONES void AxpyLoop(float* d, const float* a, float scalar, const float* c, std::size_t n) {
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < n; ++i) {
        d[i] = c[i] + a[i] * scalar;
    }
}

void AxpyFloat(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    AxpyLoop(As<float>(dst), As<float>(sources[0]), ScalarAs<float>(scalar), As<float>(sources[1]), count);
}

void AxpyHalf(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    const float s = HalfToFloat(ScalarAs<std::uint16_t>(scalar));
    float a[kChunk];
    float c[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        HalfToFloat(c, As<std::uint16_t>(sources[1]) + i, n);
        AxpyLoop(a, a, s, c, n);
        FloatToHalf(As<std::uint16_t>(dst) + i, a, n);
    }
}

void AxpyHalfFloat(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    const float s = HalfToFloat(ScalarAs<std::uint16_t>(scalar));
    float a[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        AxpyLoop(As<float>(dst) + i, a, s, As<float>(sources[1]) + i, n);
    }
}

#define ASCEND_SIM_INTEGER_LOOP(Name, T, Expression)                                                   \
    ASCEND_SIM_CLONES void Name(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, \
                                std::size_t count) {                                                   \
        using U = std::make_unsigned_t<T>;                                                             \
        const T* a = As<T>(sources[0]);                                                                \
        T* d = As<T>(dst);                                                                             \
        const T y = ScalarAs<T>(scalar);                                                               \
        [[maybe_unused]] const auto uy = std::uint32_t{static_cast<U>(y)};                             \
        ASCEND_SIM_NO_DEPENDENCE                                                                       \
        for (std::size_t i = 0; i < count; ++i) {                                                      \
            const T x = a[i];                                                                          \
            [[maybe_unused]] const auto ux = std::uint32_t{static_cast<U>(x)};                         \
            d[i] = static_cast<T>(Expression);                                                         \
        }                                                                                              \
    }

#define ASCEND_SIM_INTEGER_LOOPS(T, Suffix)                           \
    ASCEND_SIM_INTEGER_LOOP(Adds##Suffix, T, static_cast<U>(ux + uy)) \
    ASCEND_SIM_INTEGER_LOOP(Muls##Suffix, T, static_cast<U>(ux * uy)) \
    ASCEND_SIM_INTEGER_LOOP(Maxs##Suffix, T, x >= y ? x : y)          \
    ASCEND_SIM_INTEGER_LOOP(Mins##Suffix, T, x <= y ? x : y)

ASCEND_SIM_INTEGER_LOOPS(std::int16_t, Int16)
ASCEND_SIM_INTEGER_LOOPS(std::int32_t, Int32)

// The distance may equal the width, so shifts are done in 64 bits.
template <typename T>
ASCEND_SIM_INLINE T ShiftedLeft(T x, std::uint32_t distance) {
    using U = std::make_unsigned_t<T>;
    constexpr U sign = std::is_signed_v<T> ? static_cast<U>(U{1} << (8 * sizeof(T) - 1)) : U{0};
    const U shifted = static_cast<U>(static_cast<std::uint64_t>(static_cast<U>(x)) << distance);
    return static_cast<T>((shifted & static_cast<U>(~sign)) | (static_cast<U>(x) & sign));
}

template <typename T>
ASCEND_SIM_INLINE T ShiftedRight(T x, std::uint32_t distance) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>(static_cast<Wide>(x) >> distance);
}

template <typename T>
ASCEND_SIM_INLINE T ShiftedRightRounded(T x, std::uint32_t distance) {
    const std::int64_t wide = x;
    const std::int64_t last = distance == 0 ? 0 : (wide >> (distance - 1)) & 1;
    return static_cast<T>((wide >> distance) + last);
}

#define ASCEND_SIM_SHIFT_LOOPS(T, Suffix)                                                           \
    ASCEND_SIM_INTEGER_LOOP(ShiftLeft##Suffix, T, ShiftedLeft<T>(x, static_cast<std::uint32_t>(y))) \
    ASCEND_SIM_INTEGER_LOOP(ShiftRight##Suffix, T, ShiftedRight<T>(x, static_cast<std::uint32_t>(y)))

ASCEND_SIM_SHIFT_LOOPS(std::int16_t, Int16)
ASCEND_SIM_SHIFT_LOOPS(std::int32_t, Int32)
ASCEND_SIM_SHIFT_LOOPS(std::uint16_t, Uint16)
ASCEND_SIM_SHIFT_LOOPS(std::uint32_t, Uint32)
ASCEND_SIM_INTEGER_LOOP(RoundingShiftInt16, std::int16_t,
                        ShiftedRightRounded<std::int16_t>(x, static_cast<std::uint32_t>(y)))
ASCEND_SIM_INTEGER_LOOP(RoundingShiftInt32, std::int32_t,
                        ShiftedRightRounded<std::int32_t>(x, static_cast<std::uint32_t>(y)))

constexpr DTypeSet kArithmetic(DType::kFloat16, DType::kFloat32, DType::kInt16, DType::kInt32);
constexpr DTypeSet kShifts(DType::kInt16, DType::kUint16, DType::kInt32, DType::kUint32);
constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);

#define ASCEND_SIM_PICK(Name)                                                            \
    case ScalarOp::k##Name:                                                              \
        return dtype == DType::kFloat32   ? static_cast<LaneKernel>(FloatS<Name##Float>) \
               : dtype == DType::kFloat16 ? static_cast<LaneKernel>(HalfS<Name##Float>)  \
               : dtype == DType::kInt16   ? static_cast<LaneKernel>(Name##Int16)         \
                                          : static_cast<LaneKernel>(Name##Int32)

#define ASCEND_SIM_PICK_SHIFT(Name)                                    \
    (dtype == DType::kInt16    ? static_cast<LaneKernel>(Name##Int16)  \
     : dtype == DType::kInt32  ? static_cast<LaneKernel>(Name##Int32)  \
     : dtype == DType::kUint16 ? static_cast<LaneKernel>(Name##Uint16) \
                               : static_cast<LaneKernel>(Name##Uint32))

LaneKernel KernelOf(ScalarOp op, DType dtype, DType src_dtype, bool round) {
    switch (op) {
        ASCEND_SIM_PICK(Adds);
        ASCEND_SIM_PICK(Muls);
        ASCEND_SIM_PICK(Maxs);
        ASCEND_SIM_PICK(Mins);
        case ScalarOp::kLeakyRelu:
            return dtype == DType::kFloat32 ? static_cast<LaneKernel>(FloatS<LeakyReluFloat>)
                                            : static_cast<LaneKernel>(HalfS<LeakyReluFloat>);
        case ScalarOp::kShiftLeft:
            return ASCEND_SIM_PICK_SHIFT(ShiftLeft);
        case ScalarOp::kShiftRight:
            if (round && dtype == DType::kInt16) {
                return RoundingShiftInt16;
            }
            if (round && dtype == DType::kInt32) {
                return RoundingShiftInt32;
            }
            return ASCEND_SIM_PICK_SHIFT(ShiftRight);
        case ScalarOp::kAxpy:
            break;
    }
    return dtype == DType::kFloat16 ? AxpyHalf : src_dtype == DType::kFloat16 ? AxpyHalfFloat : AxpyFloat;
}

void RequireShiftDistance(Access& access, const VectorCall& call) {
    const std::int64_t width = BitsOf(call.src0.dtype);
    const std::int64_t distance =
        width == 16 ? ScalarAs<std::int16_t>(call.scalar) : ScalarAs<std::int32_t>(call.scalar);
    access.Require(distance >= 0 && distance <= width, "scalarValue", distance, width == 16 ? "0..16" : "0..32");
}

}  // namespace

void VectorScalar(const VectorCall& call, ScalarOp op, bool round) {
    Access access(CurrentCore(), call.head);
    bool widening = false;
    if (op == ScalarOp::kShiftLeft || op == ScalarOp::kShiftRight) {
        RequireDType(access, call.dst.dtype, kShifts, "dst dtype", "int16, uint16, int32, uint32");
        RequireShiftDistance(access, call);
    } else if (op == ScalarOp::kLeakyRelu || op == ScalarOp::kAxpy) {
        RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
        widening = op == ScalarOp::kAxpy && call.dst.dtype == DType::kFloat32 && call.src0.dtype == DType::kFloat16;
    } else {
        RequireDType(access, call.dst.dtype, kArithmetic, "dst dtype", "float16, float32, int16, int32");
    }
    if (!widening) {
        RequireSameDType(access, call.dst, call.src0, "src dtype");
    }
    RequireDstBlockStride(access, call.dst_stride);
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 65535);
    const Stream sources[2] = {MakeStream(access, call.src0, "src", call.src0_stride, 65535), dst};
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / dst.bits);
    CheckOverlap(access, dst, sources[0], lanes, widening ? Overlap::kNone : Overlap::kInPlace);
    if (op == ScalarOp::kAxpy) {
        CheckOverlap(access, dst, dst, lanes, Overlap::kInPlace);
    }
    RunElementwise(access, lanes, dst, sources, op == ScalarOp::kAxpy ? 2 : 1,
                   KernelOf(op, call.dst.dtype, call.src0.dtype, round), call.scalar, false);
}

}  // namespace ascend_attention::sim
