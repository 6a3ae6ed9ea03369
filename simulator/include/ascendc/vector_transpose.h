// SPDX-License-Identifier: Apache-2.0
// Transpose and TransDataTo5HD.
#pragma once

#include "ascendc/sync.h"
#include "ascendc/vector_params.h"

namespace AscendC {

constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

// A2/A3 support none, ND2ND_B16 and the two between NCHW and NHWC.
enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW,
};

struct TransDataTo5HDParams {
    __aicore__ TransDataTo5HDParams() {}
    __aicore__ TransDataTo5HDParams(const bool dstHighHalfIn, const bool srcHighHalfIn, const uint8_t repeatTimesIn,
                                    const uint16_t dstRepStrideIn, const uint16_t srcRepStrideIn)
        : dstHighHalf(dstHighHalfIn),
          srcHighHalf(srcHighHalfIn),
          repeatTimes(repeatTimesIn),
          dstRepStride(dstRepStrideIn),
          srcRepStride(srcRepStrideIn) {}

    bool dstHighHalf = false;
    bool srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0;
    uint16_t srcRepStride = 0;
};

struct TransposeParamsExt {
    __aicore__ TransposeParamsExt() {}
    __aicore__ TransposeParamsExt(const uint16_t nSizeIn, const uint16_t cSizeIn, const uint16_t hSizeIn,
                                  const uint16_t wSizeIn, const TransposeType transposeTypeIn)
        : nSize(nSizeIn), cSize(cSizeIn), hSize(hSizeIn), wSize(wSizeIn), transposeType(transposeTypeIn) {}

    uint16_t nSize = 0;
    uint16_t cSize = 0;
    uint16_t hSize = 0;
    uint16_t wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 sim::Site site = sim::Site::Here()) {
    sim::VectorCall call = vector_call::Head("Transpose", sim::VectorMask::Register(), 1, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src);
    sim::VectorTranspose(call);
}

// The forms between NCHW and NHWC are a library sequence that ends with a barrier of the vector pipe.
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& transposeParams,
                                 sim::Site site = sim::Site::Here()) {
    sim::TransposeCall call;
    call.head = sim::Call{"Transpose", sim::Pipe::kVector, site};
    call.dst = ToOperand(dst);
    call.src = ToOperand(src);
    call.work = ToOperand(sharedTmpBuffer);
    call.work_bytes = sharedTmpBuffer.GetSize();
    call.layout = static_cast<uint8_t>(transposeParams.transposeType);
    call.n = transposeParams.nSize;
    call.c = transposeParams.cSize;
    call.h = transposeParams.hSize;
    call.w = transposeParams.wSize;
    sim::VectorTransposeLayout(call);
    if (transposeParams.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC ||
        transposeParams.transposeType == TransposeType::TRANSPOSE_NHWC2NCHW) {
        PipeBarrier<PIPE_V>(site);
    }
}

namespace vector_call {

template <typename T>
sim::TransDataCall TransData(const TransDataTo5HDParams& params, const sim::Site& site) {
    sim::TransDataCall call;
    call.head = sim::Call{"TransDataTo5HD", sim::Pipe::kVector, site};
    call.dtype = DTypeOf<T>();
    call.dst_high = params.dstHighHalf;
    call.src_high = params.srcHighHalf;
    call.repeat = params.repeatTimes;
    call.dst_repeat_stride = params.dstRepStride;
    call.src_repeat_stride = params.srcRepStride;
    return call;
}

}  // namespace vector_call

template <typename T>
__aicore__ inline void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                                      const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE],
                                      const TransDataTo5HDParams& nchwconvParams, sim::Site site = sim::Site::Here()) {
    sim::TransDataCall call = vector_call::TransData<T>(nchwconvParams, site);
    for (int32_t i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
        call.dst[i] = ToOperand(dstList[i]);
        call.src[i] = ToOperand(srcList[i]);
    }
    sim::VectorTransData(call);
}

// Addresses as GetPhyAddr gives them.
template <typename T>
__aicore__ inline void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE],
                                      uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                                      const TransDataTo5HDParams& nchwconvParams, sim::Site site = sim::Site::Here()) {
    sim::TransDataCall call = vector_call::TransData<T>(nchwconvParams, site);
    for (int32_t i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
        call.dst[i] = sim::Operand{sim::Space::kUb, DTypeOf<T>(), dstList[i], 0, 0};
        call.src[i] = sim::Operand{sim::Space::kUb, DTypeOf<T>(), srcList[i], 0, 0};
    }
    sim::VectorTransData(call);
}

template <typename T>
__aicore__ inline void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
                                      const TransDataTo5HDParams& nchwconvParams, sim::Site site = sim::Site::Here()) {
    sim::VectorTransDataIndirect(vector_call::TransData<T>(nchwconvParams, site), ToOperand(dst), ToOperand(src));
}

}  // namespace AscendC
