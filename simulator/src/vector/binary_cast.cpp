// SPDX-License-Identifier: Apache-2.0
// Two sources, an operation and a conversion to a narrower type in one instruction.
//
// The operation is rounded to the source type before the conversion, which rounds to nearest even and saturates; the
// device's inner precision is not documented. AddDeqRelu is a library sequence on the device: the sum wraps around in
// int32, goes to float32 and is scaled there in steps that keep it in range.
#include "core/core.h"
#include "numerics/rounding.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

using Combine = float (*)(float x, float y);

ASCEND_SIM_INLINE float AddRelu(float x, float y) { return Rectified(x + y); }
ASCEND_SIM_INLINE float SubRelu(float x, float y) { return Rectified(x - y); }
ASCEND_SIM_INLINE float Multiply(float x, float y) { return x * y; }

template <typename T, void (*Convert)(T*, const float*, std::size_t), Combine Operation>
void HalfToBytes(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    float a[kChunk];
    float b[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        HalfToFloat(a, As<std::uint16_t>(sources[0]) + i, n);
        HalfToFloat(b, As<std::uint16_t>(sources[1]) + i, n);
        for (std::size_t k = 0; k < n; ++k) {
            a[k] = Operation(a[k], b[k]);
        }
        RoundThroughHalf(a, n);
        RoundToIntegral(a, a, n, Rounding::kRint);
        Convert(As<T>(dst) + i, a, n);
    }
}

template <Combine Operation>
void FloatToHalves(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    float a[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        for (std::size_t k = 0; k < n; ++k) {
            a[k] = Operation(As<float>(sources[0])[i + k], As<float>(sources[1])[i + k]);
        }
        FloatToHalf(As<std::uint16_t>(dst) + i, a, n);
    }
}

template <bool Subtract>
void Int16ToBytes(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const int x = As<std::int16_t>(sources[0])[i];
        const int y = As<std::int16_t>(sources[1])[i];
        const auto wrapped = static_cast<std::int16_t>(static_cast<std::uint16_t>(Subtract ? x - y : x + y));
        As<std::int8_t>(dst)[i] = static_cast<std::int8_t>(std::clamp<int>(wrapped, 0, 127));
    }
}

void AddDeqReluKernel(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar, std::size_t count) {
    constexpr float kDown = 1.0F / 131072.0F;  // 2^-17
    const float scale = ScalarAs<float>(scalar);
    std::int32_t sums[kChunk];
    float values[kChunk];
    for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t n = std::min(kChunk, count - i);
        for (std::size_t k = 0; k < n; ++k) {
            sums[k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(As<std::int32_t>(sources[0])[i + k]) +
                                                static_cast<std::uint32_t>(As<std::int32_t>(sources[1])[i + k]));
        }
        Int32ToFloat(values, sums, n, Rounding::kRint);
        for (std::size_t k = 0; k < n; ++k) {
            values[k] = values[k] * kDown * scale * (1.0F / kDown);
        }
        RoundThroughHalf(values, n);
        for (std::size_t k = 0; k < n; ++k) {
            values[k] = Rectified(values[k]);
        }
        FloatToHalf(As<std::uint16_t>(dst) + i, values, n);
    }
}

struct Rule {
    BinaryCastOp op;
    DType src;
    DType dst;
    LaneKernel kernel;
};

const Rule kRules[] = {
    {BinaryCastOp::kAddReluCast, DType::kFloat16, DType::kInt8, HalfToBytes<std::int8_t, IntegralToInt8, AddRelu>},
    {BinaryCastOp::kAddReluCast, DType::kFloat32, DType::kFloat16, FloatToHalves<AddRelu>},
    {BinaryCastOp::kAddReluCast, DType::kInt16, DType::kInt8, Int16ToBytes<false>},
    {BinaryCastOp::kSubReluCast, DType::kFloat16, DType::kInt8, HalfToBytes<std::int8_t, IntegralToInt8, SubRelu>},
    {BinaryCastOp::kSubReluCast, DType::kFloat32, DType::kFloat16, FloatToHalves<SubRelu>},
    {BinaryCastOp::kSubReluCast, DType::kInt16, DType::kInt8, Int16ToBytes<true>},
    {BinaryCastOp::kMulCast, DType::kFloat16, DType::kInt8, HalfToBytes<std::int8_t, IntegralToInt8, Multiply>},
    {BinaryCastOp::kMulCast, DType::kFloat16, DType::kUint8, HalfToBytes<std::uint8_t, IntegralToUint8, Multiply>},
    {BinaryCastOp::kAddDeqRelu, DType::kInt32, DType::kFloat16, AddDeqReluKernel},
};

const Rule* FindRule(BinaryCastOp op, DType src, DType dst) {
    for (const Rule& rule : kRules) {
        if (rule.op == op && rule.src == src && rule.dst == dst) {
            return &rule;
        }
    }
    return nullptr;
}

// The library keeps intermediate results in its sources.
void UndefineSources(Access& access, const Stream* sources, const Lanes& lanes) {
    for (int i = 0; i < 2; ++i) {
        DeclareWrites(access, sources[i], lanes);
        UndefineLanes(access, sources[i], lanes);
    }
}

}  // namespace

void VectorBinaryCast(const VectorCall& call, BinaryCastOp op) {
    Access access(CurrentCore(), call.head);
    const bool library = op == BinaryCastOp::kAddDeqRelu;
    const Rule* rule = FindRule(op, call.src0.dtype, call.dst.dtype);
    access.Require(rule != nullptr, "src and dst dtype",
                   static_cast<std::int64_t>(call.src0.dtype) * 100 + static_cast<std::int64_t>(call.dst.dtype),
                   library                        ? "int32 to float16"
                   : op == BinaryCastOp::kMulCast ? "float16 to int8 or uint8"
                                                  : "float16 to int8, float32 to float16, int16 to int8");
    RequireSameDType(access, call.src0, call.src1, "src1 dtype");
    RequireDstBlockStride(access, call.dst_stride);
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride);
    const Stream sources[2] = {MakeStream(access, call.src0, "src0", call.src0_stride),
                               MakeStream(access, call.src1, "src1", call.src1_stride)};
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / sources[0].bits);
    if (lanes.empty()) {
        return;
    }
    const MachineState& state = access.core().state;
    if (library) {
        access.Require(state.dequantisation.kind == DequantisationState::Kind::kHalf, "SetDeqScale form", 1,
                       "SetDeqScale(half), the form for int32 sources");
        for (const Stream& stream : {dst, sources[0], sources[1]}) {
            RequireOutsideReserved(access, stream, lanes,
                                   "below byte 188416: the call keeps temporary data in the last 8 KiB of UB");
        }
    }
    CheckOverlap(access, dst, sources[0], lanes, Overlap::kNone);
    CheckOverlap(access, dst, sources[1], lanes, Overlap::kNone);
    RunElementwise(access, lanes, dst, sources, 2, rule->kernel, BitsOf(state.deq_scale), false);
    if (library) {
        UndefineSources(access, sources, lanes);
    }
}

}  // namespace ascend_attention::sim
