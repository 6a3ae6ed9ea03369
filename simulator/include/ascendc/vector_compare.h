// SPDX-License-Identifier: Apache-2.0
// Compare to bits, select by bits.
#pragma once

#include "ascendc/vector_binary.h"
#include "ascendc/vector_unary.h"

namespace AscendC {

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                               CMPMODE cmpMode, const uint64_t mask[], uint8_t repeatTimes,
                               const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    const sim::VectorCall call = vector_call::Binary("Compare", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                                     repeatTimes, repeatParams, site);
    sim::VectorCompare(call, static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                               CMPMODE cmpMode, const uint64_t mask, uint8_t repeatTimes,
                               const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    const sim::VectorCall call = vector_call::Binary("Compare", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                                     repeatTimes, repeatParams, site);
    sim::VectorCompare(call, static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                               CMPMODE cmpMode, uint32_t calCount, sim::Site site = sim::Site::Here()) {
    sim::VectorCompare(vector_call::Binary("Compare", dst, src0, src1, sim::VectorMask::Count(calCount), 1,
                                           BinaryRepeatParams(), site),
                       static_cast<uint8_t>(cmpMode));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                               const uint64_t mask[], const BinaryRepeatParams& repeatParams,
                               sim::Site site = sim::Site::Here()) {
    sim::VectorCompareToRegister(
        vector_call::Binary("Compare", src0, src0, src1, vector_call::MaskOf<isSetMask>(mask), 1, repeatParams, site),
        static_cast<uint8_t>(cmpMode));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                               const uint64_t mask, const BinaryRepeatParams& repeatParams,
                               sim::Site site = sim::Site::Here()) {
    sim::VectorCompareToRegister(
        vector_call::Binary("Compare", src0, src0, src1, vector_call::MaskOf<isSetMask>(mask), 1, repeatParams, site),
        static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                                     CMPMODE cmpMode, const uint64_t mask[], uint8_t repeatTimes,
                                     const UnaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::Unary("CompareScalar", dst, src0, vector_call::MaskOf<isSetMask>(mask),
                                              repeatTimes, repeatParams, site);
    call.scalar = vector_call::ScalarBits(src1Scalar);
    sim::VectorCompareScalar(call, static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                                     CMPMODE cmpMode, const uint64_t mask, uint8_t repeatTimes,
                                     const UnaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::Unary("CompareScalar", dst, src0, vector_call::MaskOf<isSetMask>(mask),
                                              repeatTimes, repeatParams, site);
    call.scalar = vector_call::ScalarBits(src1Scalar);
    sim::VectorCompareScalar(call, static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U>
__aicore__ inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                                     CMPMODE cmpMode, uint32_t calCount, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call =
        vector_call::Unary("CompareScalar", dst, src0, sim::VectorMask::Count(calCount), 1, UnaryRepeatParams(), site);
    call.scalar = vector_call::ScalarBits(src1Scalar);
    sim::VectorCompareScalar(call, static_cast<uint8_t>(cmpMode));
}

// The 9.x name of CompareScalar.
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                                CMPMODE cmpMode, const uint64_t mask[], uint8_t repeatTimes,
                                const UnaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::Unary("Compares", dst, src0, vector_call::MaskOf<isSetMask>(mask), repeatTimes,
                                              repeatParams, site);
    call.scalar = vector_call::ScalarBits(src1Scalar);
    sim::VectorCompareScalar(call, static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                                CMPMODE cmpMode, const uint64_t mask, uint8_t repeatTimes,
                                const UnaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::Unary("Compares", dst, src0, vector_call::MaskOf<isSetMask>(mask), repeatTimes,
                                              repeatParams, site);
    call.scalar = vector_call::ScalarBits(src1Scalar);
    sim::VectorCompareScalar(call, static_cast<uint8_t>(cmpMode));
}

template <typename T, typename U>
__aicore__ inline void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                                CMPMODE cmpMode, uint32_t calCount, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call =
        vector_call::Unary("Compares", dst, src0, sim::VectorMask::Count(calCount), 1, UnaryRepeatParams(), site);
    call.scalar = vector_call::ScalarBits(src1Scalar);
    sim::VectorCompareScalar(call, static_cast<uint8_t>(cmpMode));
}

template <typename T>
__aicore__ inline void GetCmpMask(const LocalTensor<T>& dst, sim::Site site = sim::Site::Here()) {
    sim::VectorGetCompareMask(sim::Call{"GetCmpMask", sim::Pipe::kVector, site}, ToOperand(dst));
}

template <typename T>
__aicore__ inline void SetCmpMask(const LocalTensor<T>& src, sim::Site site = sim::Site::Here()) {
    sim::VectorSetCompareMask(sim::Call{"SetCmpMask", sim::Pipe::kVector, site}, ToOperand(src));
}

namespace vector_call {

inline sim::SelectSource SourceOf(SELMODE mode) {
    return mode == SELMODE::VSEL_CMPMASK_SPR          ? sim::SelectSource::kSameBits
           : mode == SELMODE::VSEL_TENSOR_SCALAR_MODE ? sim::SelectSource::kScalar
                                                      : sim::SelectSource::kTensor;
}

template <typename T, typename U>
void SelectTensors(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                   const LocalTensor<T>& src1, SELMODE mode, const sim::VectorMask& mask, int64_t repeat,
                   const BinaryRepeatParams& params, const sim::Site& site) {
    sim::VectorSelect(Binary("Select", dst, src0, src1, mask, repeat, params, site), ToOperand(selMask),
                      SourceOf(mode));
}

// Some kernels pass mode 0 with a scalar: the bits are then the same in every repeat, but a 0 bit needs a tensor, so
// the machine refuses it.
template <typename T, typename U>
void SelectScalar(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, PrimT<T> src1,
                  SELMODE mode, const sim::VectorMask& mask, int64_t repeat, const BinaryRepeatParams& params,
                  const sim::Site& site) {
    sim::VectorCall call = Binary("Select", dst, src0, src0, mask, repeat, params, site);
    call.src1 = sim::Operand{};
    call.scalar = ScalarBits(src1);
    sim::VectorSelect(call, ToOperand(selMask), SourceOf(mode));
}

}  // namespace vector_call

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask[], uint8_t repeatTimes,
                              const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    vector_call::SelectTensors(dst, selMask, src0, src1, selMode, vector_call::MaskOf<isSetMask>(mask), repeatTimes,
                               repeatParams, site);
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask, uint8_t repeatTimes,
                              const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    vector_call::SelectTensors(dst, selMask, src0, src1, selMode, vector_call::MaskOf<isSetMask>(mask), repeatTimes,
                               repeatParams, site);
}

template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, SELMODE selMode, uint32_t calCount,
                              sim::Site site = sim::Site::Here()) {
    vector_call::SelectTensors(dst, selMask, src0, src1, selMode, sim::VectorMask::Count(calCount), 1,
                               BinaryRepeatParams(), site);
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              T src1, SELMODE selMode, uint64_t mask[], uint8_t repeatTimes,
                              const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    vector_call::SelectScalar(dst, selMask, src0, src1, selMode, vector_call::MaskOf<isSetMask>(mask), repeatTimes,
                              repeatParams, site);
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              T src1, SELMODE selMode, uint64_t mask, uint8_t repeatTimes,
                              const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    vector_call::SelectScalar(dst, selMask, src0, src1, selMode, vector_call::MaskOf<isSetMask>(mask), repeatTimes,
                              repeatParams, site);
}

template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              T src1, SELMODE selMode, uint32_t calCount, sim::Site site = sim::Site::Here()) {
    vector_call::SelectScalar(dst, selMask, src0, src1, selMode, sim::VectorMask::Count(calCount), 1,
                              BinaryRepeatParams(), site);
}

// Without mask: the mask register and the compare mask register decide.
template <typename T, SELMODE selMode>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                              uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,
                              sim::Site site = sim::Site::Here()) {
    static_assert(selMode == SELMODE::VSEL_CMPMASK_SPR,
                  "mode 2 without selMask keeps an address in the compare mask register, which is not modelled");
    sim::VectorSelect(
        vector_call::Binary("Select", dst, src0, src1, sim::VectorMask::Register(), repeatTimes, repeatParams, site),
        sim::Operand{}, sim::SelectSource::kRegister);
}

template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,
                              sim::Site site = sim::Site::Here()) {
    sim::VectorSelect(
        vector_call::Binary("Select", dst, src0, src0, sim::VectorMask::Register(), repeatTimes, repeatParams, site),
        ToOperand(selMask), sim::SelectSource::kRegisterScalar);
}

}  // namespace AscendC
