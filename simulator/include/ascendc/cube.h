// SPDX-License-Identifier: Apache-2.0
// LoadData, Mmad and Fixpipe. Each call fills a descriptor; the machine (machine/cube_calls.h) checks and executes it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ascendc/cube_params.h"
#include "ascendc/data_copy.h"
#include "ascendc/tensor.h"
#include "machine/cube_calls.h"

namespace AscendC {

template <typename Source>
inline void Load2d(const sim::Operand& dst, const Source& src, const LoadData2DParams& params, const sim::Site& site) {
    sim::Load2dCall call;
    call.site = site;
    call.target = dst;
    call.source = ToOperand(src);
    call.start_index = params.startIndex;
    call.repeat_times = params.repeatTimes;
    call.source_stride = params.srcStride;
    call.target_gap = params.dstGap;
    call.transpose = params.ifTranspose;
    call.address_mode = params.addrMode;
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                const LoadData2DParams& loadDataParams, sim::Site site = sim::Site::Here()) {
    Load2d(ToOperand(dstLocal), srcLocal, loadDataParams, site);
}

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcLocal,
                                const LoadData2DParams& loadDataParams, sim::Site site = sim::Site::Here()) {
    Load2d(ToOperand(dstLocal), srcLocal, loadDataParams, site);
}

template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U = PrimT<T>,
          typename std::enable_if<IsSameType<PrimT<T>, U>::value, bool>::type = true>
__aicore__ inline void LoadData(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                const LoadData3DParamsV2<U>& loadDataParams, sim::Site site = sim::Site::Here()) {
    sim::Load3dCall call;
    call.site = site;
    call.target = ToOperand(dstLocal);
    call.source = ToOperand(srcLocal);
    for (int32_t i = 0; i < PAD_SIZE; ++i) {
        call.pad[i] = loadDataParams.padList[i];
    }
    call.l1_height = loadDataParams.l1H;
    call.l1_width = loadDataParams.l1W;
    call.channels = loadDataParams.channelSize;
    call.k_extension = loadDataParams.kExtension;
    call.m_extension = loadDataParams.mExtension;
    call.k_start = loadDataParams.kStartPt;
    call.m_start = loadDataParams.mStartPt;
    call.stride_w = loadDataParams.strideW;
    call.stride_h = loadDataParams.strideH;
    call.filter_w = loadDataParams.filterW + (loadDataParams.filterSizeW ? 256U : 0U);
    call.filter_h = loadDataParams.filterH + (loadDataParams.filterSizeH ? 256U : 0U);
    call.dilation_w = loadDataParams.dilationFilterW;
    call.dilation_h = loadDataParams.dilationFilterH;
    call.transpose = loadDataParams.enTranspose;
    call.small_k = loadDataParams.enSmallK;
    call.right_fmatrix = loadDataParams.fMatrixCtrl;
    call.pad_value = ElementPattern(loadDataParams.padValue);
    call.sets_fmatrix = defaultConfig.isSetFMatrix;
    call.sets_pad_value = defaultConfig.isSetPadding;
    sim::Execute(call);
}

template <typename T, typename Params>
inline sim::LoadTransposeCall TransposeCall(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Params& params,
                                            const sim::Site& site) {
    sim::LoadTransposeCall call;
    call.site = site;
    call.target = ToOperand(dst);
    call.source = ToOperand(src);
    call.start_index = params.startIndex;
    call.repeat_times = params.repeatTimes;
    call.source_stride = params.srcStride;
    call.target_gap = params.dstGap;
    call.target_fractal_gap = params.dstFracGap;
    call.address_mode = params.addrMode;
    return call;
}

template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                             const LoadData2dTransposeParams& loadDataParams,
                                             sim::Site site = sim::Site::Here()) {
    sim::Execute(TransposeCall(dstLocal, srcLocal, loadDataParams, site));
}

template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                             const LoadData2dTransposeParamsV2& loadDataParams,
                                             sim::Site site = sim::Site::Here()) {
    sim::LoadTransposeCall call = TransposeCall(dstLocal, srcLocal, loadDataParams, site);
    call.source_fractal_gap = loadDataParams.srcFracGap;
    sim::Execute(call);
}

template <typename DstT, typename Src0T, typename Src1T>
inline sim::MmadCall MultiplyCall(const LocalTensor<DstT>& dst, const LocalTensor<Src0T>& fm,
                                  const LocalTensor<Src1T>& filter, const MmadParams& params, const sim::Site& site) {
    sim::MmadCall call;
    call.site = site;
    call.target = ToOperand(dst);
    call.left = ToOperand(fm);
    call.right = ToOperand(filter);
    call.m = params.m;
    call.n = params.n;
    call.k = params.k;
    call.unit_flag = params.unitFlag;
    call.k_direction_align = params.kDirectionAlign;
    call.c_from_bias_table = params.cmatrixSource;
    call.c_init_zero = params.cmatrixInitVal && !params.isBias;
    return call;
}

template <typename DstT, typename Src0T, typename Src1T>
__aicore__ inline void Mmad(const LocalTensor<DstT>& dstLocal, const LocalTensor<Src0T>& fmLocal,
                            const LocalTensor<Src1T>& filterLocal, const MmadParams& mmadParams,
                            sim::Site site = sim::Site::Here()) {
    sim::Execute(MultiplyCall(dstLocal, fmLocal, filterLocal, mmadParams, site));
}

template <typename DstT, typename Src0T, typename Src1T, typename BiasT>
__aicore__ inline void Mmad(const LocalTensor<DstT>& dstLocal, const LocalTensor<Src0T>& fmLocal,
                            const LocalTensor<Src1T>& filterLocal, const LocalTensor<BiasT>& biasLocal,
                            const MmadParams& mmadParams, sim::Site site = sim::Site::Here()) {
    sim::MmadCall call = MultiplyCall(dstLocal, fmLocal, filterLocal, mmadParams, site);
    call.has_bias = true;
    call.bias = ToOperand(biasLocal);
    sim::Execute(call);
}

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

template <typename DstT, typename SrcT, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<DstT>& dstGlobal, const LocalTensor<SrcT>& srcLocal,
                               const FixpipeParamsV220& intriParams, sim::Site site = sim::Site::Here()) {
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "column-major results need a later architecture");
    sim::Execute(FixCall(dstGlobal, srcLocal, intriParams, config.format, site));
}

template <typename DstT, typename SrcT, const FixpipeConfig& config = CFG_ROW_MAJOR, typename BufT = uint64_t,
          typename std::enable_if<IsSameType<PrimT<BufT>, uint64_t>::value, bool>::type = true>
__aicore__ inline void Fixpipe(const GlobalTensor<DstT>& dstGlobal, const LocalTensor<SrcT>& srcLocal,
                               const LocalTensor<BufT>& cbufWorkspace, const FixpipeParamsV220& intriParams,
                               sim::Site site = sim::Site::Here()) {
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "column-major results need a later architecture");
    sim::FixpipeCall call = FixCall(dstGlobal, srcLocal, intriParams, config.format, site);
    call.has_scales = true;
    call.scales = ToOperand(cbufWorkspace);
    sim::Execute(call);
}

template <typename T, typename U>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<U>& srcLocal,
                                const DataCopyCO12DstParams& intriParams, sim::Site site = sim::Site::Here()) {
    sim::FixpipeCall call;
    call.site = site;
    call.from_state = true;
    call.target = ToOperand(dstGlobal);
    call.source = ToOperand(srcLocal);
    call.row_major = intriParams.nz2ndEn;
    call.n_size = intriParams.nSize;
    call.m_size = intriParams.mSize;
    call.source_stride = intriParams.srcStride;
    call.target_stride = intriParams.dstStride;
    call.quant = QuantOf(intriParams.quantPre);
    call.relu = intriParams.reluPre != 0;
    call.unit_flag = intriParams.unitFlag;
    call.channel_split = intriParams.channelSplit;
    sim::Execute(call);
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
    sim::SetFixpipeTensors(ToOperand(quantPre), isUnitFlag, site);
}

template <typename T, bool setRelu = false>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& preTensor, bool isUnitFlag = false,
                                        sim::Site site = sim::Site::Here()) {
    static_assert(!setRelu, "only the quantisation tensor can be set");
    sim::SetFixpipeTensors(ToOperand(preTensor), isUnitFlag, site);
}

__aicore__ inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode,
                                  sim::Site site = sim::Site::Here()) {
    sim::SetFeatureMatrix(fmatrixMode == FmatrixMode::FMATRIX_RIGHT, l1H, l1W, padList, site);
}

__aicore__ inline void SetLoadDataBoundary(uint32_t boundaryValue, sim::Site site = sim::Site::Here()) {
    sim::SetLoadBoundary(boundaryValue, site);
}

__aicore__ inline void SetLoadDataRepeat(const LoadDataRepeatParam& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::SetLoadRepeat(repeatParams.repeatTime, site);
}

template <typename T>
__aicore__ inline void SetLoadDataPaddingValue(const T padValue, sim::Site site = sim::Site::Here()) {
    sim::SetLoadPaddingValue(ElementPattern(padValue), site);
}

}  // namespace AscendC
