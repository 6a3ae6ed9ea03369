// SPDX-License-Identifier: Apache-2.0
// Calls that the vendor's library makes of several vector instructions. Each ends as the library's does: with a barrier
// of the vector pipe where that has one.
#pragma once

#include "ascendc/sync.h"
#include "ascendc/vector_binary.h"

namespace AscendC {

template <typename T, bool isReuseSource = false>
__aicore__ inline void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount,
                           sim::Site site = sim::Site::Here()) {
    sim::VectorXor(vector_call::PackedBinary("Xor", dst, src0, src1, calCount, site), ToOperand(sharedTmpBuffer),
                   sharedTmpBuffer.GetSize());
    PipeBarrier<PIPE_V>(site);
}

template <typename T, bool isReuseSource = false>
__aicore__ inline void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const LocalTensor<uint8_t>& sharedTmpBuffer, sim::Site site = sim::Site::Here()) {
    sim::RequireUse(src0.GetSize() == src1.GetSize(), "Xor", "the sources differ in size", site);
    Xor<T, isReuseSource>(dst, src0, src1, sharedTmpBuffer, src0.GetSize(), site);
}

// The library takes its buffer from what TPipe has not given away.
template <typename T, bool isReuseSource = false>
__aicore__ inline void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const uint32_t calCount, sim::Site site = sim::Site::Here()) {
    sim::VectorBinary(vector_call::PackedBinary("Xor", dst, src0, src1, calCount, site), sim::BinaryOp::kXor);
    PipeBarrier<PIPE_V>(site);
}

template <typename T, bool isReuseSource = false>
__aicore__ inline void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           sim::Site site = sim::Site::Here()) {
    sim::RequireUse(src0.GetSize() == src1.GetSize(), "Xor", "the sources differ in size", site);
    Xor<T, isReuseSource>(dst, src0, src1, src0.GetSize(), site);
}

struct SelectWithBytesMaskShapeInfo {
    __aicore__ SelectWithBytesMaskShapeInfo() {}

    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;
};

namespace vector_call {

template <bool isReuseMask, typename T, typename U>
void SelectBytes(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, PrimT<T> scalar,
                 bool scalarWhereSet, const LocalTensor<U>& mask, const LocalTensor<uint8_t>& work,
                 const SelectWithBytesMaskShapeInfo& info, const sim::Site& site) {
    sim::SelectBytesCall call;
    call.head = sim::Call{name, sim::Pipe::kVector, site};
    call.dst = ToOperand(dst);
    call.src = ToOperand(src);
    call.mask = ToOperand(mask);
    call.work = ToOperand(work);
    call.src_count = src.GetSize();
    call.mask_count = mask.GetSize();
    call.work_bytes = work.GetSize();
    call.scalar = ScalarBits(scalar);
    call.scalar_where_set = scalarWhereSet;
    call.reuse_mask = isReuseMask;
    call.rows = info.firstAxis;
    call.src_columns = info.srcLastAxis;
    call.mask_columns = info.maskLastAxis;
    PipeBarrier<PIPE_V>(site);
    sim::VectorSelectBytes(call);
    PipeBarrier<PIPE_V>(site);
}

}  // namespace vector_call

// A mask of 0 chooses src0, any other src1. Select is the 9.x name.
#define ASCEND_SIM_SELECT_BYTES(Name)                                                                            \
    template <typename T, typename U, bool isReuseMask = true>                                                   \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1,                   \
                                const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,         \
                                const SelectWithBytesMaskShapeInfo& info, sim::Site site = sim::Site::Here()) {  \
        vector_call::SelectBytes<isReuseMask>(#Name, dst, src0, src1, true, mask, sharedTmpBuffer, info, site);  \
    }                                                                                                            \
    template <typename T, typename U, bool isReuseMask = true>                                                   \
    __aicore__ inline void Name(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1,                   \
                                const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,         \
                                const SelectWithBytesMaskShapeInfo& info, sim::Site site = sim::Site::Here()) {  \
        vector_call::SelectBytes<isReuseMask>(#Name, dst, src1, src0, false, mask, sharedTmpBuffer, info, site); \
    }

ASCEND_SIM_SELECT_BYTES(SelectWithBytesMask)
ASCEND_SIM_SELECT_BYTES(Select)
#undef ASCEND_SIM_SELECT_BYTES

namespace vector_call {

template <typename T>
sim::BilinearCall Bilinear(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& offset,
                           const LocalTensor<T>& src1, const sim::VectorMask& mask, uint8_t hRepeat, bool repeatMode,
                           uint16_t dstBlkStride, uint16_t vROffset, uint8_t vRepeat, const LocalTensor<uint8_t>& work,
                           const sim::Site& site) {
    sim::BilinearCall call;
    call.head = sim::Call{"BilinearInterpolation", sim::Pipe::kVector, site};
    call.mask = mask;
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src0);
    call.offset = ToOperand(offset);
    call.src1 = ToOperand(src1);
    call.work = ToOperand(work);
    call.src1_count = src1.GetSize();
    call.h_repeat = hRepeat;
    call.v_repeat = vRepeat;
    call.per_block = repeatMode;
    call.dst_block_stride = dstBlkStride;
    call.v_offset = vROffset;
    return call;
}

}  // namespace vector_call

template <typename T>
__aicore__ inline void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                             const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                                             uint64_t mask, uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride,
                                             uint16_t vROffset, uint8_t vRepeat,
                                             const LocalTensor<uint8_t>& sharedTmpBuffer,
                                             sim::Site site = sim::Site::Here()) {
    sim::VectorBilinear(vector_call::Bilinear(dst, src0, src0Offset, src1, sim::VectorMask::Lanes(mask), hRepeat,
                                              repeatMode, dstBlkStride, vROffset, vRepeat, sharedTmpBuffer, site));
}

template <typename T>
__aicore__ inline void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                             const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                                             uint64_t mask[], uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride,
                                             uint16_t vROffset, uint8_t vRepeat,
                                             const LocalTensor<uint8_t>& sharedTmpBuffer,
                                             sim::Site site = sim::Site::Here()) {
    sim::VectorBilinear(vector_call::Bilinear(dst, src0, src0Offset, src1, sim::VectorMask::Bits(mask[0], mask[1]),
                                              hRepeat, repeatMode, dstBlkStride, vROffset, vRepeat, sharedTmpBuffer,
                                              site));
}

}  // namespace AscendC
