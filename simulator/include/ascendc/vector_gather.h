// SPDX-License-Identifier: Apache-2.0
// Gather, Gatherb, GatherMask.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {
namespace vector_call {

template <typename T>
sim::VectorCall GatherCall(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset,
                           const sim::VectorMask& mask, int64_t repeat, int64_t dstRepStride, const sim::Site& site) {
    sim::VectorCall call = Head("Gather", mask, repeat, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src);
    call.src1 = ToOperand(offset);
    call.dst_stride = sim::BlockStride{1, dstRepStride};
    return call;
}

}  // namespace vector_call

template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint64_t mask,
                              const uint8_t repeatTimes, const uint16_t dstRepStride,
                              sim::Site site = sim::Site::Here()) {
    sim::VectorGather(
        vector_call::GatherCall(dst, src, srcOffset, sim::VectorMask::Lanes(mask), repeatTimes, dstRepStride, site),
        srcBaseAddr);
}

template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint64_t mask[],
                              const uint8_t repeatTimes, const uint16_t dstRepStride,
                              sim::Site site = sim::Site::Here()) {
    sim::VectorGather(vector_call::GatherCall(dst, src, srcOffset, sim::VectorMask::Bits(mask[0], mask[1]), repeatTimes,
                                              dstRepStride, site),
                      srcBaseAddr);
}

template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint32_t count,
                              sim::Site site = sim::Site::Here()) {
    sim::VectorGather(vector_call::GatherCall(dst, src, srcOffset, sim::VectorMask::Count(count), 1, 8, site),
                      srcBaseAddr);
}

// Whole data blocks: one offset per block, eight per repeat.
template <typename T>
__aicore__ inline void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                               const LocalTensor<uint32_t>& offset, const uint8_t repeatTimes,
                               const GatherRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::GatherCall(dst, src0, offset, sim::VectorMask::Register(), repeatTimes,
                                                   repeatParams.dstRepStride, site);
    call.head.name = "Gatherb";
    call.dst_stride.block = repeatParams.dstBlkStride;
    sim::VectorGatherBlocks(call);
}

namespace vector_call {

template <typename T>
sim::GatherMaskCall GatherMaskOf(const LocalTensor<T>& dst, const LocalTensor<T>& src0, bool reduceMode, uint32_t mask,
                                 const GatherMaskParams& params, const sim::Site& site) {
    sim::GatherMaskCall call;
    call.head = sim::Call{"GatherMask", sim::Pipe::kVector, site};
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src0);
    call.counter = reduceMode;
    call.mask = mask;
    call.repeat = params.repeatTimes;
    call.src0_block_stride = params.src0BlockStride;
    call.src0_repeat_stride = params.src0RepeatStride;
    call.src1_repeat_stride = params.src1RepeatStride;
    return call;
}

}  // namespace vector_call

template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
__aicore__ inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                  const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                                  const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
                                  sim::Site site = sim::Site::Here()) {
    sim::GatherMaskCall call = vector_call::GatherMaskOf(dst, src0, reduceMode, mask, gatherMaskParams, site);
    call.src1 = ToOperand(src1Pattern);
    rsvdCnt = sim::VectorGatherMask(call);
}

template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
__aicore__ inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern,
                                  const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams,
                                  uint64_t& rsvdCnt, sim::Site site = sim::Site::Here()) {
    sim::GatherMaskCall call = vector_call::GatherMaskOf(dst, src0, reduceMode, mask, gatherMaskParams, site);
    // 0 is no pattern, but here it must not mean "from a tensor".
    call.pattern = src1Pattern == 0 ? UINT8_MAX : src1Pattern;
    rsvdCnt = sim::VectorGatherMask(call);
}

// Elements the last GatherMask kept.
__aicore__ inline int64_t GetGatherMaskRemainCount(sim::Site site = sim::Site::Here()) {
    return static_cast<int64_t>(
        sim::ReadGatheredCount(sim::Call{"GetGatherMaskRemainCount", sim::Pipe::kScalar, site}));
}

}  // namespace AscendC
