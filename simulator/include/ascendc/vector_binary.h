// SPDX-License-Identifier: Apache-2.0
// Vector instructions with two sources.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {
namespace vector_call {

template <typename T, typename U>
sim::VectorCall Binary(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                       const LocalTensor<U>& src1, const sim::VectorMask& mask, int64_t repeat,
                       const BinaryRepeatParams& params, const sim::Site& site) {
    sim::VectorCall call = Head(name, mask, repeat, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src0);
    call.src1 = ToOperand(src1);
    call.dst_stride = sim::BlockStride{params.dstBlkStride, params.dstRepStride};
    call.src0_stride = sim::BlockStride{params.src0BlkStride, params.src0RepStride};
    call.src1_stride = sim::BlockStride{params.src1BlkStride, params.src1RepStride};
    return call;
}

template <typename T, typename U>
sim::VectorCall PackedBinary(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                             const LocalTensor<U>& src1, int64_t count, const sim::Site& site) {
    sim::VectorCall call = Binary(name, dst, src0, src1, sim::VectorMask::Count(count), 1, BinaryRepeatParams(), site);
    call.dst_stride = Packed<T, Wider<T, U>>();
    call.src0_stride = Packed<U, Wider<T, U>>();
    call.src1_stride = call.src0_stride;
    return call;
}

}  // namespace vector_call

#define ASCEND_SIM_BINARY(Name)                                                                                       \
    template <typename T, bool isSetMask = true>                                                                      \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,    \
                                uint64_t mask[], const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,   \
                                sim::Site site = sim::Site::Here()) {                                                 \
        sim::VectorBinary(vector_call::Binary(#Name, dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),           \
                                              repeatTimes, repeatParams, site),                                       \
                          sim::BinaryOp::k##Name);                                                                    \
    }                                                                                                                 \
    template <typename T, bool isSetMask = true>                                                                      \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,    \
                                uint64_t mask, const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,     \
                                sim::Site site = sim::Site::Here()) {                                                 \
        sim::VectorBinary(vector_call::Binary(#Name, dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),           \
                                              repeatTimes, repeatParams, site),                                       \
                          sim::BinaryOp::k##Name);                                                                    \
    }                                                                                                                 \
    template <typename T>                                                                                             \
    __aicore__ inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,    \
                                const int32_t& calCount, sim::Site site = sim::Site::Here()) {                        \
        sim::VectorBinary(vector_call::PackedBinary(#Name, dst, src0, src1, calCount, site), sim::BinaryOp::k##Name); \
    }

ASCEND_SIM_BINARY(Add)
ASCEND_SIM_BINARY(Sub)
ASCEND_SIM_BINARY(Mul)
ASCEND_SIM_BINARY(Div)
ASCEND_SIM_BINARY(Max)
ASCEND_SIM_BINARY(Min)
ASCEND_SIM_BINARY(And)
ASCEND_SIM_BINARY(Or)
ASCEND_SIM_BINARY(AddRelu)
ASCEND_SIM_BINARY(SubRelu)
ASCEND_SIM_BINARY(FusedMulAdd)
ASCEND_SIM_BINARY(FusedMulAddRelu)
ASCEND_SIM_BINARY(MulAddRelu)  // the 9.x name of FusedMulAddRelu
#undef ASCEND_SIM_BINARY

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                 const uint64_t mask[], const uint8_t repeatTimes,
                                 const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::VectorBinary(vector_call::Binary("MulAddDst", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                          repeatTimes, repeatParams, site),
                      sim::BinaryOp::kMulAddDst);
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                 uint64_t mask, const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,
                                 sim::Site site = sim::Site::Here()) {
    sim::VectorBinary(vector_call::Binary("MulAddDst", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                          repeatTimes, repeatParams, site),
                      sim::BinaryOp::kMulAddDst);
}

template <typename T, typename U>
__aicore__ inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                 const int32_t& calCount, sim::Site site = sim::Site::Here()) {
    sim::VectorBinary(vector_call::PackedBinary("MulAddDst", dst, src0, src1, calCount, site),
                      sim::BinaryOp::kMulAddDst);
}

}  // namespace AscendC
