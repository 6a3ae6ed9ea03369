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

// The scale of Cast from int32_t to half.
__aicore__ inline void SetDeqScale(half scale, sim::Site site = sim::Site::Here()) {
    sim::SetDequantisationScale(sim::Call{"SetDeqScale", sim::Pipe::kScalar, site}, static_cast<float>(scale));
}

}  // namespace AscendC
