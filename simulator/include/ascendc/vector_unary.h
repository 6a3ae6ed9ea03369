// SPDX-License-Identifier: Apache-2.0
// Vector instructions with one source, and with one source and a scalar.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {
namespace vector_call {

template <typename T, typename U>
sim::VectorCall Unary(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src,
                      const sim::VectorMask& mask, int64_t repeat, const UnaryRepeatParams& params,
                      const sim::Site& site) {
    sim::VectorCall call = Head(name, mask, repeat, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src);
    call.dst_stride = sim::BlockStride{params.dstBlkStride, params.dstRepStride};
    call.src0_stride = sim::BlockStride{params.srcBlkStride, params.srcRepStride};
    return call;
}

template <typename T, typename U>
sim::VectorCall PackedUnary(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src,
                            const sim::VectorMask& mask, const sim::Site& site) {
    sim::VectorCall call = Unary(name, dst, src, mask, 1, UnaryRepeatParams(), site);
    call.dst_stride = Packed<T, Wider<T, U>>();
    call.src0_stride = Packed<U, Wider<T, U>>();
    return call;
}

}  // namespace vector_call

#define ASCEND_SIM_UNARY(Name)                                                                                  \
    template <typename T, bool isSetMask = true>                                                                \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[],          \
                                const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,               \
                                sim::Site site = sim::Site::Here()) {                                           \
        sim::VectorUnary(vector_call::Unary(#Name, dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, \
                                            repeatParams, site),                                                \
                         sim::UnaryOp::k##Name);                                                                \
    }                                                                                                           \
    template <typename T, bool isSetMask = true>                                                                \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,            \
                                const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,               \
                                sim::Site site = sim::Site::Here()) {                                           \
        sim::VectorUnary(vector_call::Unary(#Name, dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, \
                                            repeatParams, site),                                                \
                         sim::UnaryOp::k##Name);                                                                \
    }                                                                                                           \
    template <typename T>                                                                                       \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& calCount,  \
                                sim::Site site = sim::Site::Here()) {                                           \
        sim::VectorUnary(vector_call::PackedUnary(#Name, dst, src, sim::VectorMask::Count(calCount), site),     \
                         sim::UnaryOp::k##Name);                                                                \
    }

ASCEND_SIM_UNARY(Relu)
ASCEND_SIM_UNARY(Exp)
ASCEND_SIM_UNARY(Ln)
ASCEND_SIM_UNARY(Abs)
ASCEND_SIM_UNARY(Reciprocal)
ASCEND_SIM_UNARY(Rsqrt)
ASCEND_SIM_UNARY(Sqrt)
ASCEND_SIM_UNARY(Not)
#undef ASCEND_SIM_UNARY

namespace vector_call {

template <typename T, typename U>
void WithScalar(sim::VectorCall call, const U& scalar, sim::ScalarOp op, bool round = false) {
    static_assert(sizeof(U) == sizeof(PrimT<T>), "the scalar has the element type of the source");
    call.scalar = ScalarBits(scalar);
    sim::VectorScalar(call, op, round);
}

}  // namespace vector_call

// Each form twice, as in the genuine headers: the second exists for TensorTrait tensors, whose scalar type cannot be
// deduced from T.
#define ASCEND_SIM_SCALAR_FORMS(Name, Template, Scalar)                                                               \
    Template __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                        \
                                         const Scalar& scalarValue, uint64_t mask[], const uint8_t repeatTimes,       \
                                         const UnaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) { \
        vector_call::WithScalar<T>(vector_call::Unary(#Name, dst, src, vector_call::MaskOf<isSetMask>(mask),          \
                                                      repeatTimes, repeatParams, site),                               \
                                   scalarValue, sim::ScalarOp::k##Name);                                              \
    }                                                                                                                 \
    Template __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                        \
                                         const Scalar& scalarValue, uint64_t mask, const uint8_t repeatTimes,         \
                                         const UnaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) { \
        vector_call::WithScalar<T>(vector_call::Unary(#Name, dst, src, vector_call::MaskOf<isSetMask>(mask),          \
                                                      repeatTimes, repeatParams, site),                               \
                                   scalarValue, sim::ScalarOp::k##Name);                                              \
    }

#define ASCEND_SIM_SCALAR_COUNT(Name, Template, Scalar)                                                              \
    Template __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                       \
                                         const Scalar& scalarValue, const int32_t& calCount,                         \
                                         sim::Site site = sim::Site::Here()) {                                       \
        vector_call::WithScalar<T>(                                                                                  \
            vector_call::PackedUnary(#Name, dst, src, vector_call::CountOf<isSetMask>(calCount), site), scalarValue, \
            sim::ScalarOp::k##Name);                                                                                 \
    }

#define ASCEND_SIM_PLAIN template <typename T, bool isSetMask = true>
#define ASCEND_SIM_TRAIT                                     \
    template <typename T, typename U, bool isSetMask = true, \
              typename std::enable_if<IsSameType<PrimT<T>, U>::value, bool>::type = true>

#define ASCEND_SIM_SCALAR(Name)                        \
    ASCEND_SIM_SCALAR_FORMS(Name, ASCEND_SIM_PLAIN, T) \
    ASCEND_SIM_SCALAR_FORMS(Name, ASCEND_SIM_TRAIT, U) \
    ASCEND_SIM_SCALAR_COUNT(Name, ASCEND_SIM_PLAIN, T) \
    ASCEND_SIM_SCALAR_COUNT(Name, ASCEND_SIM_TRAIT, U)

ASCEND_SIM_SCALAR(Adds)
ASCEND_SIM_SCALAR(Muls)
ASCEND_SIM_SCALAR(Maxs)
ASCEND_SIM_SCALAR(Mins)
ASCEND_SIM_SCALAR(ShiftLeft)
ASCEND_SIM_SCALAR(LeakyRelu)
ASCEND_SIM_SCALAR_COUNT(ShiftRight, ASCEND_SIM_PLAIN, T)
ASCEND_SIM_SCALAR_COUNT(ShiftRight, ASCEND_SIM_TRAIT, U)
#undef ASCEND_SIM_SCALAR
#undef ASCEND_SIM_TRAIT
#undef ASCEND_SIM_PLAIN
#undef ASCEND_SIM_SCALAR_COUNT
#undef ASCEND_SIM_SCALAR_FORMS

template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                                  uint64_t mask[], const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,
                                  bool roundEn = false, sim::Site site = sim::Site::Here()) {
    vector_call::WithScalar<T>(vector_call::Unary("ShiftRight", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                                  repeatTimes, repeatParams, site),
                               scalarValue, sim::ScalarOp::kShiftRight, roundEn);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                                  uint64_t mask, const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,
                                  bool roundEn = false, sim::Site site = sim::Site::Here()) {
    vector_call::WithScalar<T>(vector_call::Unary("ShiftRight", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                                  repeatTimes, repeatParams, site),
                               scalarValue, sim::ScalarOp::kShiftRight, roundEn);
}

// dst += src * scalar; the result may be float for a half source.
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask,
                            const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,
                            sim::Site site = sim::Site::Here()) {
    vector_call::WithScalar<U>(
        vector_call::Unary("Axpy", dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site),
        scalarValue, sim::ScalarOp::kAxpy);
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask[],
                            const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,
                            sim::Site site = sim::Site::Here()) {
    vector_call::WithScalar<U>(
        vector_call::Unary("Axpy", dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site),
        scalarValue, sim::ScalarOp::kAxpy);
}

template <typename T, typename U>
__aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
                            const int32_t& calCount, sim::Site site = sim::Site::Here()) {
    vector_call::WithScalar<U>(vector_call::PackedUnary("Axpy", dst, src, sim::VectorMask::Count(calCount), site),
                               scalarValue, sim::ScalarOp::kAxpy);
}

}  // namespace AscendC
