// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ascendc/vector_unary.h"

namespace AscendC {
namespace vector_call {

// Elements per block follow the storage size; int4b_t packs two into a byte.
template <typename T>
constexpr int64_t BitsPerElement() {
    return IsSameType<PrimT<T>, int4b_t>::value ? 4 : static_cast<int64_t>(8 * sizeof(PrimT<T>));
}

template <typename T, typename U>
sim::VectorCall PackedCast(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t count, const sim::Site& site) {
    constexpr int64_t widest = BitsPerElement<T>() > BitsPerElement<U>() ? BitsPerElement<T>() : BitsPerElement<U>();
    sim::VectorCall call = Unary("Cast", dst, src, sim::VectorMask::Count(count), 1, UnaryRepeatParams(), site);
    call.dst_stride = sim::BlockStride{1, 8 * BitsPerElement<T>() / widest};
    call.src0_stride = sim::BlockStride{1, 8 * BitsPerElement<U>() / widest};
    return call;
}

}  // namespace vector_call

template <typename T1, typename T2, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<T1>& dst, const LocalTensor<T2>& src, const RoundMode& round_mode,
                            const uint64_t mask[], const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,
                            sim::Site site = sim::Site::Here()) {
    sim::VectorCast(
        vector_call::Unary("Cast", dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site),
        static_cast<uint8_t>(round_mode));
}

template <typename T1, typename T2, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<T1>& dst, const LocalTensor<T2>& src, const RoundMode& round_mode,
                            const uint64_t mask, const uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,
                            sim::Site site = sim::Site::Here()) {
    sim::VectorCast(
        vector_call::Unary("Cast", dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site),
        static_cast<uint8_t>(round_mode));
}

template <typename T1, typename T2>
__aicore__ inline void Cast(const LocalTensor<T1>& dst, const LocalTensor<T2>& src, const RoundMode& round_mode,
                            const uint32_t calCount, sim::Site site = sim::Site::Here()) {
    sim::VectorCast(vector_call::PackedCast(dst, src, calCount, site), static_cast<uint8_t>(round_mode));
}

namespace vector_call {

template <typename T, typename U, bool isVecDeq, bool halfBlock>
void Dequantise(const sim::VectorCall& call) {
    if constexpr (sizeof(PrimT<U>) == sizeof(int32_t)) {
        sim::VectorCast(call, static_cast<uint8_t>(RoundMode::CAST_RINT));
    } else {
        sim::VectorCastDequantise(call, isVecDeq, halfBlock);
    }
}

// 16-bit sources keep the block structure: half a destination block per source block.
template <typename T, typename U>
sim::VectorCall DequantiseCount(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t count,
                                const sim::Site& site) {
    if constexpr (sizeof(PrimT<U>) == sizeof(int32_t)) {
        return PackedUnary(name, dst, src, sim::VectorMask::Count(count), site);
    } else {
        return Unary(name, dst, src, sim::VectorMask::Count(count), 1, UnaryRepeatParams(), site);
    }
}

}  // namespace vector_call

// CastDequant is the 9.x name.
#define ASCEND_SIM_DEQUANTISE(Name)                                                                              \
    template <typename T1, typename T2, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>      \
    __aicore__ inline void Name(const LocalTensor<T1>& dst, const LocalTensor<T2>& src, const uint64_t mask[],   \
                                uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,                      \
                                sim::Site site = sim::Site::Here()) {                                            \
        vector_call::Dequantise<T1, T2, isVecDeq, halfBlock>(vector_call::Unary(                                 \
            #Name, dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site));            \
    }                                                                                                            \
    template <typename T1, typename T2, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>      \
    __aicore__ inline void Name(const LocalTensor<T1>& dst, const LocalTensor<T2>& src, const int32_t mask,      \
                                uint8_t repeatTimes, const UnaryRepeatParams& repeatParams,                      \
                                sim::Site site = sim::Site::Here()) {                                            \
        vector_call::Dequantise<T1, T2, isVecDeq, halfBlock>(vector_call::Unary(                                 \
            #Name, dst, src, vector_call::LanesOf<isSetMask>(mask), repeatTimes, repeatParams, site));           \
    }                                                                                                            \
    template <typename T1, typename T2, bool isVecDeq = true, bool halfBlock = true>                             \
    __aicore__ inline void Name(const LocalTensor<T1>& dst, const LocalTensor<T2>& src, const uint32_t calCount, \
                                sim::Site site = sim::Site::Here()) {                                            \
        vector_call::Dequantise<T1, T2, isVecDeq, halfBlock>(                                                    \
            vector_call::DequantiseCount(#Name, dst, src, calCount, site));                                      \
    }

ASCEND_SIM_DEQUANTISE(CastDeq)
ASCEND_SIM_DEQUANTISE(CastDequant)
#undef ASCEND_SIM_DEQUANTISE

// The scale of Cast from int32_t to half and of AddDeqRelu.
__aicore__ inline void SetDeqScale(half scale, sim::Site site = sim::Site::Here()) {
    sim::SetDequantisationScale(sim::Call{"SetDeqScale", sim::Pipe::kScalar, site}, static_cast<float>(scale));
}

namespace vector_call {

// As the hardware reads it: the scale in the low word, a 9-bit offset at bit 37, the sign of the result at bit 46.
inline uint64_t DequantisationConfig(float scale, int16_t offset, bool signMode) {
    return ScalarBits(scale) | (static_cast<uint64_t>(offset) & 0x1FF) << 37 | static_cast<uint64_t>(signMode) << 46;
}

}  // namespace vector_call

// For CastDeq without and with vector.
__aicore__ inline void SetDeqScale(float scale, int16_t offset, bool signMode, sim::Site site = sim::Site::Here()) {
    sim::SetDequantisationConfig(sim::Call{"SetDeqScale", sim::Pipe::kScalar, site},
                                 vector_call::DequantisationConfig(scale, offset, signMode));
}

template <typename T>
__aicore__ inline void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo,
                                   sim::Site site = sim::Site::Here()) {
    for (int32_t i = 0; i < VDEQ_TENSOR_SIZE; ++i) {
        vdeq.SetValue(i,
                      static_cast<PrimT<T>>(vector_call::DequantisationConfig(
                          vdeqInfo.vdeqScale[i], vdeqInfo.vdeqOffset[i], vdeqInfo.vdeqSignMode[i])),
                      site);
    }
    sim::SetDequantisationVector(sim::Call{"SetDeqScale", sim::Pipe::kScalar, site}, ToOperand(vdeq));
}

}  // namespace AscendC
