// SPDX-License-Identifier: Apache-2.0
// Instructions with two sources.
//
// Integers wrap around on overflow (the documentation leaves it open; A2/A3 have no saturation control for them).
// Max and Min give NaN when an operand is NaN; of two zeros they give src0. Div is correctly rounded. MulAddDst and the
// fused forms round the product to float32 before the sum (the device's inner precision is not documented).
#include <type_traits>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

#define ASCEND_SIM_FLOAT_LOOP(Name, Expression)                                            \
    ASCEND_SIM_CLONES void Name(float* d, const float* a, const float* b, std::size_t n) { \
        ASCEND_SIM_NO_DEPENDENCE                                                           \
        for (std::size_t i = 0; i < n; ++i) {                                              \
            const float x = a[i];                                                          \
            const float y = b[i];                                                          \
            d[i] = Expression;                                                             \
        }                                                                                  \
    }

ASCEND_SIM_FLOAT_LOOP(AddFloat, x + y)
ASCEND_SIM_FLOAT_LOOP(SubFloat, x - y)
ASCEND_SIM_FLOAT_LOOP(MulFloat, x* y)
ASCEND_SIM_FLOAT_LOOP(DivFloat, x / y)
ASCEND_SIM_FLOAT_LOOP(MaxFloat, Maximum(x, y))
ASCEND_SIM_FLOAT_LOOP(MinFloat, Minimum(x, y))
ASCEND_SIM_FLOAT_LOOP(AddReluFloat, Rectified(x + y))
ASCEND_SIM_FLOAT_LOOP(SubReluFloat, Rectified(x - y))

#define ASCEND_SIM_FLOAT_LOOP3(Name, Expression)                                                           \
    ASCEND_SIM_CLONES void Name(float* d, const float* a, const float* b, const float* c, std::size_t n) { \
        ASCEND_SIM_NO_DEPENDENCE                                                                           \
        for (std::size_t i = 0; i < n; ++i) {                                                              \
            const float x = a[i];                                                                          \
            const float y = b[i];                                                                          \
            const float z = c[i];                                                                          \
            d[i] = Expression;                                                                             \
        }                                                                                                  \
    }

// z is the old destination.
ASCEND_SIM_FLOAT_LOOP3(MulAddDstFloat, z + x * y)
ASCEND_SIM_FLOAT_LOOP3(FusedMulAddFloat, x* z + y)
ASCEND_SIM_FLOAT_LOOP3(FusedMulAddReluFloat, Rectified(x* z + y))

#define ASCEND_SIM_INTEGER_LOOP(Name, T, Expression)                                                                 \
    ASCEND_SIM_CLONES void Name(std::byte* dst, const std::byte* const* sources, std::uint64_t, std::size_t count) { \
        using U = std::make_unsigned_t<T>;                                                                           \
        const T* a = As<T>(sources[0]);                                                                              \
        const T* b = As<T>(sources[1]);                                                                              \
        T* d = As<T>(dst);                                                                                           \
        ASCEND_SIM_NO_DEPENDENCE                                                                                     \
        for (std::size_t i = 0; i < count; ++i) {                                                                    \
            const T x = a[i];                                                                                        \
            const T y = b[i];                                                                                        \
            [[maybe_unused]] const auto ux = std::uint32_t{static_cast<U>(x)};                                       \
            [[maybe_unused]] const auto uy = std::uint32_t{static_cast<U>(y)};                                       \
            d[i] = static_cast<T>(Expression);                                                                       \
        }                                                                                                            \
    }

#define ASCEND_SIM_INTEGER_LOOPS(T, Suffix)                                                           \
    ASCEND_SIM_INTEGER_LOOP(Add##Suffix, T, static_cast<U>(ux + uy))                                  \
    ASCEND_SIM_INTEGER_LOOP(Sub##Suffix, T, static_cast<U>(ux - uy))                                  \
    ASCEND_SIM_INTEGER_LOOP(Mul##Suffix, T, static_cast<U>(ux * uy))                                  \
    ASCEND_SIM_INTEGER_LOOP(Max##Suffix, T, x >= y ? x : y)                                           \
    ASCEND_SIM_INTEGER_LOOP(Min##Suffix, T, x <= y ? x : y)                                           \
    ASCEND_SIM_INTEGER_LOOP(                                                                          \
        AddRelu##Suffix, T,                                                                           \
        static_cast<T>(static_cast<U>(ux + uy)) > 0 ? static_cast<T>(static_cast<U>(ux + uy)) : T{0}) \
    ASCEND_SIM_INTEGER_LOOP(                                                                          \
        SubRelu##Suffix, T,                                                                           \
        static_cast<T>(static_cast<U>(ux - uy)) > 0 ? static_cast<T>(static_cast<U>(ux - uy)) : T{0})

ASCEND_SIM_INTEGER_LOOPS(std::int16_t, Int16)
ASCEND_SIM_INTEGER_LOOPS(std::int32_t, Int32)
ASCEND_SIM_INTEGER_LOOP(AndBits, std::uint16_t, x& y)
ASCEND_SIM_INTEGER_LOOP(OrBits, std::uint16_t, x | y)
ASCEND_SIM_INTEGER_LOOP(XorBits, std::uint16_t, x ^ y)

constexpr DTypeSet kArithmetic(DType::kFloat16, DType::kFloat32, DType::kInt16, DType::kInt32);
constexpr DTypeSet kRelu(DType::kFloat16, DType::kFloat32, DType::kInt16);
constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);
constexpr DTypeSet kLogic(DType::kInt16, DType::kUint16);

struct Rule {
    DTypeSet dtypes;
    const char* text;
    bool accumulates;  // src1 may chain through dst (half, float and int32 only)
    bool reads_dst;
};

Rule RuleOf(BinaryOp op) {
    switch (op) {
        case BinaryOp::kAdd:
        case BinaryOp::kSub:
        case BinaryOp::kMul:
        case BinaryOp::kMax:
        case BinaryOp::kMin:
            return {kArithmetic, "float16, float32, int16, int32", true, false};
        case BinaryOp::kAddRelu:
        case BinaryOp::kSubRelu:
            return {kRelu, "float16, float32, int16", true, false};
        case BinaryOp::kDiv:
            return {kFloats, "float16, float32", false, false};
        case BinaryOp::kAnd:
        case BinaryOp::kOr:
        case BinaryOp::kXor:
            return {kLogic, "int16, uint16", false, false};
        default:
            return {kFloats, "float16, float32", false, true};
    }
}

#define ASCEND_SIM_PICK(Name)                                                            \
    case BinaryOp::k##Name:                                                              \
        return dtype == DType::kFloat32   ? static_cast<LaneKernel>(Float2<Name##Float>) \
               : dtype == DType::kFloat16 ? static_cast<LaneKernel>(Half2<Name##Float>)  \
               : dtype == DType::kInt16   ? static_cast<LaneKernel>(Name##Int16)         \
                                          : static_cast<LaneKernel>(Name##Int32)

#define ASCEND_SIM_PICK3(Name)                                                         \
    case BinaryOp::k##Name:                                                            \
        return dtype == DType::kFloat32 ? static_cast<LaneKernel>(Float3<Name##Float>) \
                                        : static_cast<LaneKernel>(Half3<Name##Float>)

LaneKernel KernelOf(BinaryOp op, DType dtype, bool widening) {
    if (widening) {
        return HalfHalfFloat3<MulAddDstFloat>;
    }
    switch (op) {
        ASCEND_SIM_PICK(Add);
        ASCEND_SIM_PICK(Sub);
        ASCEND_SIM_PICK(Mul);
        ASCEND_SIM_PICK(Max);
        ASCEND_SIM_PICK(Min);
        ASCEND_SIM_PICK(AddRelu);
        ASCEND_SIM_PICK(SubRelu);
        ASCEND_SIM_PICK3(MulAddDst);
        ASCEND_SIM_PICK3(FusedMulAdd);
        ASCEND_SIM_PICK3(FusedMulAddRelu);
        case BinaryOp::kAnd:
            return AndBits;
        case BinaryOp::kOr:
            return OrBits;
        case BinaryOp::kXor:
            return XorBits;
        case BinaryOp::kDiv:
            break;
    }
    return dtype == DType::kFloat32 ? static_cast<LaneKernel>(Float2<DivFloat>)
                                    : static_cast<LaneKernel>(Half2<DivFloat>);
}

}  // namespace

void VectorBinary(const VectorCall& call, BinaryOp op) {
    Access access(CurrentCore(), call.head);
    const Rule rule = RuleOf(op);
    RequireDType(access, call.dst.dtype, rule.dtypes, "dst dtype", rule.text);
    const bool widening =
        op == BinaryOp::kMulAddDst && call.dst.dtype == DType::kFloat32 && call.src0.dtype == DType::kFloat16;
    if (!widening) {
        RequireSameDType(access, call.dst, call.src0, "src0 dtype");
    }
    RequireSameDType(access, call.src0, call.src1, "src1 dtype");
    RequireDstBlockStride(access, call.dst_stride);
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride);
    const Stream sources[kMaxSources] = {MakeStream(access, call.src0, "src0", call.src0_stride),
                                         MakeStream(access, call.src1, "src1", call.src1_stride), dst};
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / dst.bits);
    // Xor is made of several instructions that read the sources again after writing the destination.
    const Overlap in_place = widening || op == BinaryOp::kXor ? Overlap::kNone : Overlap::kInPlace;
    const bool chains = rule.accumulates && call.dst.dtype != DType::kInt16 &&
                        (call.src1_stride.repeat == 0 || call.dst_stride.repeat == 0);
    CheckOverlap(access, dst, sources[0], lanes, in_place);
    bool sequential = CheckOverlap(access, dst, sources[1], lanes, chains ? Overlap::kAccumulate : in_place);
    if (rule.reads_dst) {
        CheckOverlap(access, dst, dst, lanes, Overlap::kInPlace);
    }
    RunElementwise(access, lanes, dst, sources, rule.reads_dst ? 3 : 2, KernelOf(op, call.dst.dtype, widening), 0,
                   sequential);
}

}  // namespace ascend_attention::sim
