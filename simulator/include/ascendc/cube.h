// SPDX-License-Identifier: Apache-2.0
// The loads into L0A and L0B, and Mmad. Each call fills a descriptor; the machine (machine/cube_calls.h) checks and
// executes it.
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

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                const LoadData3DParamsV2Pro& loadDataParams, sim::Site site = sim::Site::Here()) {
    const auto field = [](uint64_t bits, int from, int count) {
        return static_cast<uint32_t>(bits >> from & ((1ULL << count) - 1));
    };
    const uint64_t filter = loadDataParams.filterConfig;
    sim::Load3dCall call;
    call.site = site;
    call.target = ToOperand(dstLocal);
    call.source = ToOperand(srcLocal);
    call.channels = loadDataParams.channelSize;
    call.k_extension = field(loadDataParams.extConfig, 0, 16);
    call.m_extension = field(loadDataParams.extConfig, 16, 16);
    call.k_start = field(loadDataParams.extConfig, 32, 16);
    call.m_start = field(loadDataParams.extConfig, 48, 16);
    call.stride_w = field(filter, 0, 8);
    call.stride_h = field(filter, 8, 8);
    call.filter_w = field(filter, 16, 8) + (loadDataParams.filterSizeW ? 256U : 0U);
    call.filter_h = field(filter, 24, 8) + (loadDataParams.filterSizeH ? 256U : 0U);
    call.dilation_w = field(filter, 32, 8);
    call.dilation_h = field(filter, 40, 8);
    call.transpose = loadDataParams.enTranspose;
    call.small_k = loadDataParams.enSmallK;
    call.right_fmatrix = loadDataParams.fMatrixCtrl;
    call.sets_fmatrix = false;
    call.sets_pad_value = false;
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                             const LoadData2dTransposeParams& loadDataParams,
                                             sim::Site site = sim::Site::Here()) {
    sim::LoadTransposeCall call;
    call.site = site;
    call.target = ToOperand(dstLocal);
    call.source = ToOperand(srcLocal);
    call.start_index = loadDataParams.startIndex;
    call.repeat_times = loadDataParams.repeatTimes;
    call.source_stride = loadDataParams.srcStride;
    call.target_gap = loadDataParams.dstGap;
    call.target_fractal_gap = loadDataParams.dstFracGap;
    call.address_mode = loadDataParams.addrMode;
    sim::Execute(call);
}

template <typename T = int8_t, typename U = uint8_t,
          typename std::enable_if<IsSameType<PrimT<T>, int8_t>::value, bool>::type = true,
          typename std::enable_if<IsSameType<PrimT<U>, uint8_t>::value, bool>::type = true>
__aicore__ inline void LoadDataWithSparse(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                          const LocalTensor<U>& idxLocal, const LoadData2dParams& loadDataParam,
                                          sim::Site site = sim::Site::Here()) {
    sim::LoadSparseCall call;
    call.site = site;
    call.target = ToOperand(dstLocal);
    call.source = ToOperand(srcLocal);
    call.indices = ToOperand(idxLocal);
    call.start_index = loadDataParam.startIndex;
    call.repeat_times = loadDataParam.repeatTimes;
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

template <typename T = int32_t, typename U = int8_t,
          typename std::enable_if<IsSameType<PrimT<T>, int32_t>::value, bool>::type = true,
          typename std::enable_if<IsSameType<PrimT<U>, int8_t>::value, bool>::type = true>
__aicore__ inline void MmadWithSparse(const LocalTensor<T>& dstLocal, const LocalTensor<U>& fmLocal,
                                      const LocalTensor<U>& filterLocal, const MmadParams& mmadParams,
                                      sim::Site site = sim::Site::Here()) {
    sim::MmadCall call = MultiplyCall(dstLocal, fmLocal, filterLocal, mmadParams, site);
    call.sparse = true;
    call.c_init_zero = mmadParams.cmatrixInitVal;  // isBias is not looked at here
    sim::Execute(call);
}

__aicore__ inline void SetHF32Mode(bool hf32Mode, sim::Site site = sim::Site::Here()) { sim::SetHf32(hf32Mode, site); }

__aicore__ inline void SetHF32Mode(HF32Mode mode, sim::Site site = sim::Site::Here()) {
    sim::SetHf32(mode == HF32Mode::ENABLE, site);
}

__aicore__ inline void SetHF32TransMode(bool hf32TransMode, sim::Site site = sim::Site::Here()) {
    sim::SetHf32TiesToZero(hf32TransMode, site);
}

__aicore__ inline void SetHF32TransMode(HF32TransMode mode, sim::Site site = sim::Site::Here()) {
    sim::SetHf32TiesToZero(mode == HF32TransMode::NEAREST_ZERO, site);
}

__aicore__ inline void SetMMLayoutTransform(bool mmLayoutMode, sim::Site site = sim::Site::Here()) {
    (void)mmLayoutMode;
    sim::SetMatrixLayout("SetMMLayoutTransform", site);
}

__aicore__ inline void SetMMRowMajor(sim::Site site = sim::Site::Here()) {
    sim::SetMatrixLayout("SetMMRowMajor", site);
}

__aicore__ inline void SetMMColumnMajor(sim::Site site = sim::Site::Here()) {
    sim::SetMatrixLayout("SetMMColumnMajor", site);
}

__aicore__ inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode,
                                  sim::Site site = sim::Site::Here()) {
    sim::SetFeatureMatrix(fmatrixMode == FmatrixMode::FMATRIX_RIGHT, l1H, l1W, padList, site);
}

__aicore__ inline void SetLoadDataBoundary(uint32_t boundaryValue, sim::Site site = sim::Site::Here()) {
    sim::SetLoadBoundary(boundaryValue, site);
}

__aicore__ inline void SetLoadDataRepeat(const LoadDataRepeatParam& repeatParams, sim::Site site = sim::Site::Here()) {
    sim::SetLoadRepeat(repeatParams.repeatStride, repeatParams.repeatTime, repeatParams.repeatMode, site);
}

template <typename T>
__aicore__ inline void SetLoadDataPaddingValue(const T padValue, sim::Site site = sim::Site::Here()) {
    sim::SetLoadPaddingValue(ElementPattern(padValue), site);
}

}  // namespace AscendC
