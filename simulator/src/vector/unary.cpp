// SPDX-License-Identifier: Apache-2.0
// Instructions with one source.
//
// Sqrt is correctly rounded. Exp and Ln are the machine's own (numerics/exp_ln.h). Reciprocal and Rsqrt are
// approximate on the device, with an error the documentation only calls too large for high precision; here Reciprocal
// is 1/x and Rsqrt is 1/sqrt(x), each step rounded to float32. Relu maps everything not above zero to +0 and keeps NaN.
#include <cmath>

#include "core/core.h"
#include "numerics/exp_ln.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

#define ASCEND_SIM_FLOAT_LOOP(Name, Expression)                            \
    ASCEND_SIM_CLONES void Name(float* d, const float* a, std::size_t n) { \
        ASCEND_SIM_NO_DEPENDENCE                                           \
        for (std::size_t i = 0; i < n; ++i) {                              \
            const float x = a[i];                                          \
            d[i] = Expression;                                             \
        }                                                                  \
    }

ASCEND_SIM_FLOAT_LOOP(ReluFloat, x > 0.0F ? x : (x != x ? x : 0.0F))
ASCEND_SIM_FLOAT_LOOP(AbsFloat, std::fabs(x))
ASCEND_SIM_FLOAT_LOOP(ReciprocalFloat, 1.0F / x)
ASCEND_SIM_FLOAT_LOOP(SqrtFloat, std::sqrt(x))
ASCEND_SIM_FLOAT_LOOP(RsqrtFloat, 1.0F / std::sqrt(x))

ASCEND_SIM_CLONES void ReluInt32(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    const auto* a = As<std::int32_t>(sources[0]);
    auto* d = As<std::int32_t>(dst);
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        d[i] = a[i] > 0 ? a[i] : 0;
    }
}

ASCEND_SIM_CLONES void NotBits(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) {
    const auto* a = As<std::uint16_t>(sources[0]);
    auto* d = As<std::uint16_t>(dst);
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < count; ++i) {
        d[i] = static_cast<std::uint16_t>(~a[i]);
    }
}

constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);
constexpr DTypeSet kRelu(DType::kFloat16, DType::kFloat32, DType::kInt32);
constexpr DTypeSet kLogic(DType::kInt16, DType::kUint16);

template <FloatLoop1 Loop>
LaneKernel FloatKernel(DType dtype) {
    return dtype == DType::kFloat32 ? static_cast<LaneKernel>(Float1<Loop>) : static_cast<LaneKernel>(Half1<Loop>);
}

LaneKernel KernelOf(UnaryOp op, DType dtype) {
    switch (op) {
        case UnaryOp::kRelu:
            return dtype == DType::kInt32 ? static_cast<LaneKernel>(ReluInt32) : FloatKernel<ReluFloat>(dtype);
        case UnaryOp::kExp:
            return FloatKernel<Exp>(dtype);
        case UnaryOp::kLn:
            return FloatKernel<Ln>(dtype);
        case UnaryOp::kAbs:
            return FloatKernel<AbsFloat>(dtype);
        case UnaryOp::kReciprocal:
            return FloatKernel<ReciprocalFloat>(dtype);
        case UnaryOp::kRsqrt:
            return FloatKernel<RsqrtFloat>(dtype);
        case UnaryOp::kSqrt:
            return FloatKernel<SqrtFloat>(dtype);
        case UnaryOp::kNot:
            break;
    }
    return NotBits;
}

}  // namespace

void VectorUnary(const VectorCall& call, UnaryOp op) {
    Access access(CurrentCore(), call.head);
    if (op == UnaryOp::kNot) {
        RequireDType(access, call.dst.dtype, kLogic, "dst dtype", "int16, uint16");
    } else if (op == UnaryOp::kRelu) {
        RequireDType(access, call.dst.dtype, kRelu, "dst dtype", "float16, float32, int32");
    } else {
        RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    }
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    RequireDstBlockStride(access, call.dst_stride);
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 65535);
    const Stream src = MakeStream(access, call.src0, "src", call.src0_stride, 65535);
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / dst.bits);
    CheckOverlap(access, dst, src, lanes, Overlap::kInPlace);
    RunElementwise(access, lanes, dst, &src, 1, KernelOf(op, call.dst.dtype), 0, false);
}

}  // namespace ascend_attention::sim
