// SPDX-License-Identifier: Apache-2.0
// Two sources, an operation and a conversion in one instruction.
#pragma once

#include "ascendc/sync.h"
#include "ascendc/vector_binary.h"

namespace AscendC {

#define ASCEND_SIM_BINARY_CAST(Name)                                                                                  \
    template <typename T1, typename T2, bool isSetMask = true>                                                        \
    __aicore__ inline void Name(const LocalTensor<T1>& dst, const LocalTensor<T2>& src0, const LocalTensor<T2>& src1, \
                                uint64_t mask, const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,     \
                                sim::Site site = sim::Site::Here()) {                                                 \
        sim::VectorBinaryCast(vector_call::Binary(#Name, dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),       \
                                                  repeatTimes, repeatParams, site),                                   \
                              sim::BinaryCastOp::k##Name);                                                            \
    }                                                                                                                 \
    template <typename T1, typename T2, bool isSetMask = true>                                                        \
    __aicore__ inline void Name(const LocalTensor<T1>& dst, const LocalTensor<T2>& src0, const LocalTensor<T2>& src1, \
                                uint64_t mask[], const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,   \
                                sim::Site site = sim::Site::Here()) {                                                 \
        sim::VectorBinaryCast(vector_call::Binary(#Name, dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),       \
                                                  repeatTimes, repeatParams, site),                                   \
                              sim::BinaryCastOp::k##Name);                                                            \
    }                                                                                                                 \
    template <typename T1, typename T2>                                                                               \
    __aicore__ inline void Name(const LocalTensor<T1>& dst, const LocalTensor<T2>& src0, const LocalTensor<T2>& src1, \
                                const uint32_t calCount, sim::Site site = sim::Site::Here()) {                        \
        sim::VectorBinaryCast(vector_call::PackedBinary(#Name, dst, src0, src1, calCount, site),                      \
                              sim::BinaryCastOp::k##Name);                                                            \
    }

ASCEND_SIM_BINARY_CAST(AddReluCast)
ASCEND_SIM_BINARY_CAST(SubReluCast)
ASCEND_SIM_BINARY_CAST(MulCast)
#undef ASCEND_SIM_BINARY_CAST

// The library ends AddDeqRelu with a barrier of the vector pipe.
namespace vector_call {

inline void AddDeqRelu(const sim::VectorCall& call) {
    sim::VectorBinaryCast(call, sim::BinaryCastOp::kAddDeqRelu);
    PipeBarrier<PIPE_V>(call.head.site);
}

}  // namespace vector_call

template <bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                  const LocalTensor<int32_t>& src1, uint64_t mask[], const uint8_t repeatTimes,
                                  const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    vector_call::AddDeqRelu(vector_call::Binary("AddDeqRelu", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                                repeatTimes, repeatParams, site));
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                  uint64_t mask[], const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,
                                  sim::Site site = sim::Site::Here()) {
    vector_call::AddDeqRelu(vector_call::Binary("AddDeqRelu", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                                repeatTimes, repeatParams, site));
}

template <bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                  const LocalTensor<int32_t>& src1, uint64_t mask, const uint8_t repeatTimes,
                                  const BinaryRepeatParams& repeatParams, sim::Site site = sim::Site::Here()) {
    vector_call::AddDeqRelu(vector_call::Binary("AddDeqRelu", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                                repeatTimes, repeatParams, site));
}

template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                  uint64_t mask, const uint8_t repeatTimes, const BinaryRepeatParams& repeatParams,
                                  sim::Site site = sim::Site::Here()) {
    vector_call::AddDeqRelu(vector_call::Binary("AddDeqRelu", dst, src0, src1, vector_call::MaskOf<isSetMask>(mask),
                                                repeatTimes, repeatParams, site));
}

__aicore__ inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                  const LocalTensor<int32_t>& src1, const int32_t& calCount,
                                  sim::Site site = sim::Site::Here()) {
    vector_call::AddDeqRelu(vector_call::PackedBinary("AddDeqRelu", dst, src0, src1, calCount, site));
}

template <typename T, typename U>
__aicore__ inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                  const int32_t& calCount, sim::Site site = sim::Site::Here()) {
    vector_call::AddDeqRelu(vector_call::PackedBinary("AddDeqRelu", dst, src0, src1, calCount, site));
}

}  // namespace AscendC
