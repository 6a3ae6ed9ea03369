// SPDX-License-Identifier: Apache-2.0
// Instructions that fill or spread: Duplicate, CreateVecIndex, Brcb, Copy.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {
namespace vector_call {

template <typename T>
sim::VectorCall Fill(const char* name, const LocalTensor<T>& dst, const PrimT<T>& value, const sim::VectorMask& mask,
                     int64_t repeat, const sim::BlockStride& stride, const sim::Site& site) {
    sim::VectorCall call = Head(name, mask, repeat, site);
    call.dst = ToOperand(dst);
    call.dst_stride = stride;
    call.scalar = ScalarBits(value);
    return call;
}

template <typename T>
sim::VectorCall CopyCall(const LocalTensor<T>& dst, const LocalTensor<T>& src, const sim::VectorMask& mask,
                         int64_t repeat, const CopyRepeatParams& params, const sim::Site& site) {
    sim::VectorCall call = Head("Copy", mask, repeat, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src);
    call.dst_stride = sim::BlockStride{params.dstStride, params.dstRepeatSize};
    call.src0_stride = sim::BlockStride{params.srcStride, params.srcRepeatSize};
    return call;
}

}  // namespace vector_call

template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask,
                                 const uint8_t repeatTimes, const uint16_t dstBlockStride,
                                 const uint8_t dstRepeatStride, sim::Site site = sim::Site::Here()) {
    sim::VectorDuplicate(vector_call::Fill("Duplicate", dst, scalarValue, vector_call::MaskOf<isSetMask>(mask),
                                           repeatTimes, {dstBlockStride, dstRepeatStride}, site));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[],
                                 const uint8_t repeatTimes, const uint16_t dstBlockStride,
                                 const uint8_t dstRepeatStride, sim::Site site = sim::Site::Here()) {
    sim::VectorDuplicate(vector_call::Fill("Duplicate", dst, scalarValue, vector_call::MaskOf<isSetMask>(mask),
                                           repeatTimes, {dstBlockStride, dstRepeatStride}, site));
}

template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& calCount,
                                 sim::Site site = sim::Site::Here()) {
    sim::VectorDuplicate(
        vector_call::Fill("Duplicate", dst, scalarValue, sim::VectorMask::Count(calCount), 1, {1, 8}, site));
}

template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask, uint8_t repeatTimes,
                                      uint16_t dstBlkStride, uint8_t dstRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorCreateIndex(vector_call::Fill("CreateVecIndex", dst, firstValue, sim::VectorMask::Lanes(mask),
                                             repeatTimes, {dstBlkStride, dstRepStride}, site));
}

template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask[], uint8_t repeatTimes,
                                      uint16_t dstBlkStride, uint8_t dstRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorCreateIndex(vector_call::Fill("CreateVecIndex", dst, firstValue, sim::VectorMask::Bits(mask[0], mask[1]),
                                             repeatTimes, {dstBlkStride, dstRepStride}, site));
}

template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t calCount,
                                      sim::Site site = sim::Site::Here()) {
    sim::VectorCreateIndex(
        vector_call::Fill("CreateVecIndex", dst, firstValue, sim::VectorMask::Count(calCount), 1, {1, 8}, site));
}

template <typename T>
__aicore__ inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t repeatTimes,
                            const BrcbRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::Head("Brcb", sim::VectorMask::Register(), repeatTimes, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src0);
    call.dst_stride = sim::BlockStride{repeatParams.dstBlkStride, repeatParams.dstRepStride};
    sim::VectorBrcb(call);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                            const uint8_t repeatTimes, const CopyRepeatParams& repeatParams,
                            sim::Site site = sim::Site::Here()) {
    sim::VectorCopy(
        vector_call::CopyCall(dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask,
                            const uint8_t repeatTimes, const CopyRepeatParams& repeatParams,
                            sim::Site site = sim::Site::Here()) {
    sim::VectorCopy(
        vector_call::CopyCall(dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTimes, repeatParams, site));
}

}  // namespace AscendC
