// SPDX-License-Identifier: Apache-2.0
// Fixpipe, DataCopy out of L0C, and the registers they share. Each call fills a descriptor; the machine
// (machine/cube_calls.h) checks and executes it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ascendc/fixpipe_params.h"
#include "ascendc/tensor.h"
#include "machine/cube_calls.h"

namespace AscendC {

inline sim::Quant QuantOf(QuantMode_t mode) {
    switch (mode) {
        case QuantMode_t::NoQuant:
            return sim::Quant::kNone;
        case QuantMode_t::F322F16:
            return sim::Quant::kFloatToHalf;
        case QuantMode_t::F322BF16:
            return sim::Quant::kFloatToBfloat16;
        case QuantMode_t::DEQF16:
            return sim::Quant::kIntToHalf;
        case QuantMode_t::VDEQF16:
            return sim::Quant::kIntToHalfVector;
        case QuantMode_t::QF322B8_PRE:
            return sim::Quant::kFloatToByte;
        case QuantMode_t::VQF322B8_PRE:
            return sim::Quant::kFloatToByteVector;
        case QuantMode_t::REQ8:
            return sim::Quant::kIntToByte;
        case QuantMode_t::VREQ8:
            return sim::Quant::kIntToByteVector;
    }
    return sim::Quant::kOther;
}

template <typename Destination, typename SrcT>
inline sim::FixpipeCall FixCall(const Destination& dst, const LocalTensor<SrcT>& src, const FixpipeParamsV220& params,
                                CO2Layout format, const sim::Site& site) {
    sim::FixpipeCall call;
    call.site = site;
    call.target = ToOperand(dst);
    call.source = ToOperand(src);
    call.row_major = format == CO2Layout::ROW_MAJOR;
    call.n_size = params.nSize;
    call.m_size = params.mSize;
    call.source_stride = params.srcStride;
    call.target_stride = params.dstStride;
    call.quant = QuantOf(params.quantPre);
    call.scale = params.deqScalar;
    call.nd_count = params.ndNum;
    call.source_nd_stride = params.srcNdStride;
    call.target_nd_stride = params.dstNdStride;
    call.relu = params.reluEn;
    call.unit_flag = params.unitFlag;
    call.channel_split = params.isChannelSplit;
    return call;
}

template <const FixpipeConfig& config>
constexpr CO2Layout FormatOf() {
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "column-major results need a later architecture");
    return config.format;
}

template <typename Destination, typename SrcT, typename BufT>
inline void FixWithScales(const Destination& dst, const LocalTensor<SrcT>& src, const LocalTensor<BufT>& scales,
                          const FixpipeParamsV220& params, CO2Layout format, const sim::Site& site) {
    sim::FixpipeCall call = FixCall(dst, src, params, format, site);
    call.has_scales = true;
    call.scales = ToOperand(scales);
    sim::Execute(call);
}

template <typename DstT, typename SrcT, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<DstT>& dstGlobal, const LocalTensor<SrcT>& srcLocal,
                               const FixpipeParamsV220& intriParams, sim::Site site = sim::Site::Here()) {
    sim::Execute(FixCall(dstGlobal, srcLocal, intriParams, FormatOf<config>(), site));
}

template <typename DstT, typename SrcT, const FixpipeConfig& config = CFG_ROW_MAJOR, typename BufT = uint64_t,
          typename std::enable_if<IsSameType<PrimT<BufT>, uint64_t>::value, bool>::type = true>
__aicore__ inline void Fixpipe(const GlobalTensor<DstT>& dstGlobal, const LocalTensor<SrcT>& srcLocal,
                               const LocalTensor<BufT>& cbufWorkspace, const FixpipeParamsV220& intriParams,
                               sim::Site site = sim::Site::Here()) {
    FixWithScales(dstGlobal, srcLocal, cbufWorkspace, intriParams, FormatOf<config>(), site);
}

template <typename DstT, typename SrcT, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<DstT>& dstLocal, const LocalTensor<SrcT>& srcLocal,
                               const FixpipeParamsV220& intriParams, sim::Site site = sim::Site::Here()) {
    sim::Execute(FixCall(dstLocal, srcLocal, intriParams, FormatOf<config>(), site));
}

template <typename DstT, typename SrcT, const FixpipeConfig& config = CFG_ROW_MAJOR, typename BufT = uint64_t,
          typename std::enable_if<IsSameType<PrimT<BufT>, uint64_t>::value, bool>::type = true>
__aicore__ inline void Fixpipe(const LocalTensor<DstT>& dstLocal, const LocalTensor<SrcT>& srcLocal,
                               const LocalTensor<BufT>& cbufWorkspace, const FixpipeParamsV220& intriParams,
                               sim::Site site = sim::Site::Here()) {
    FixWithScales(dstLocal, srcLocal, cbufWorkspace, intriParams, FormatOf<config>(), site);
}

template <typename Destination, typename U>
inline void CopyFromL0C(const Destination& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params,
                        const sim::Site& site) {
    sim::FixpipeCall call;
    call.site = site;
    call.from_state = true;
    call.target = ToOperand(dst);
    call.source = ToOperand(src);
    call.row_major = params.nz2ndEn;
    call.n_size = params.nSize;
    call.m_size = params.mSize;
    call.source_stride = params.srcStride;
    call.target_stride = params.dstStride;
    call.quant = QuantOf(params.quantPre);
    call.relu = params.reluPre != 0;
    call.unit_flag = params.unitFlag;
    call.channel_split = params.channelSplit;
    sim::Execute(call);
}

template <typename T, typename U>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<U>& srcLocal,
                                const DataCopyCO12DstParams& intriParams, sim::Site site = sim::Site::Here()) {
    CopyFromL0C(dstGlobal, srcLocal, intriParams, site);
}

template <typename T, typename U>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const LocalTensor<U>& srcLocal,
                                const DataCopyCO12DstParams& intriParams, sim::Site site = sim::Site::Here()) {
    CopyFromL0C(dstLocal, srcLocal, intriParams, site);
}

__aicore__ inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride,
                                           sim::Site site = sim::Site::Here()) {
    sim::SetFixpipeNzToNd(ndNum, srcNdStride, dstNdStride, site);
}

__aicore__ inline void SetFixpipePreQuantFlag(uint64_t config, sim::Site site = sim::Site::Here()) {
    sim::SetFixpipeQuantScalar(config, site);
}

template <typename T>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& reluPre, const LocalTensor<T>& quantPre,
                                        bool isUnitFlag = false, sim::Site site = sim::Site::Here()) {
    (void)reluPre;  // kept by the interface for later use
    sim::SetFixpipeTensors(ToOperand(quantPre), false, isUnitFlag, site);
}

template <typename T, bool setRelu = false>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& preTensor, bool isUnitFlag = false,
                                        sim::Site site = sim::Site::Here()) {
    sim::SetFixpipeTensors(ToOperand(preTensor), setRelu, isUnitFlag, site);
}

}  // namespace AscendC
