// SPDX-License-Identifier: Apache-2.0
// DataCopy that changes a layout or cuts out slices, and its forms with DataCopyEnhancedParams.
#pragma once

#include <cstdint>

#include "ascendc/data_copy.h"

namespace AscendC {

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                const Nd2NzParams& intriParams, sim::Site site = sim::Site::Here()) {
    sim::CopyNdToNzCall call;
    call.site = site;
    call.target = ToOperand(dstLocal);
    call.source = ToOperand(srcGlobal);
    call.element_bytes = CopyElementBytes<T>();
    call.nd_count = intriParams.ndNum;
    call.rows = intriParams.nValue;
    call.columns = intriParams.dValue;
    call.source_matrix_stride = intriParams.srcNdMatrixStride;
    call.source_row_stride = intriParams.srcDValue;
    call.target_c0_stride = intriParams.dstNzC0Stride;
    call.target_row_stride = intriParams.dstNzNStride;
    call.target_matrix_stride = intriParams.dstNzMatrixStride;
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>&, const LocalTensor<T>&, const Nd2NzParams&,
                                sim::Site site = sim::Site::Here()) {
    sim::NeedsMatmulService("DataCopy", site);
}

template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>&, const LocalTensor<T>&, const DataCopyParams&,
                                   const Nd2NzParams&, sim::Site site = sim::Site::Here()) {
    sim::NeedsMatmulService("DataCopyPad", site);
}

template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>&, const LocalTensor<T>&, const DataCopyExtParams&,
                                   const Nd2NzParams&, sim::Site site = sim::Site::Here()) {
    sim::NeedsMatmulService("DataCopyPad", site);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                const Nz2NdParamsFull& intriParams, sim::Site site = sim::Site::Here()) {
    sim::CopyNzToNdCall call;
    call.site = site;
    call.target = ToOperand(dstGlobal);
    call.source = ToOperand(srcLocal);
    call.element_bytes = CopyElementBytes<T>();
    call.nd_count = intriParams.ndNum;
    call.rows = intriParams.nValue;
    call.columns = intriParams.dValue;
    call.source_matrix_stride = intriParams.srcNdMatrixStride;
    call.source_column_stride = intriParams.srcNStride;
    call.target_row_stride = intriParams.dstDStride;
    call.target_matrix_stride = intriParams.dstNdMatrixStride;
    sim::Execute(call);
}

// Without shapes in the slices of the source, those of the tensors hold.
template <typename Destination, typename Source>
inline void CopySlices(const Destination& dst, const Source& src, uint32_t elementBytes, const SliceInfo dstSlices[],
                       const SliceInfo srcSlices[], const uint32_t dimValue, const sim::Site& site) {
    sim::CopySliceCall call;
    call.site = site;
    call.target = ToOperand(dst);
    call.source = ToOperand(src);
    call.element_bytes = elementBytes;
    call.dims = dimValue;
    const bool named = srcSlices[0].shapeValue != 0;
    const auto take = [named](const SliceInfo& info, uint32_t shape) {
        return sim::CopySliceCall::Slice{info.startIndex, info.endIndex, info.stride, info.burstLen,
                                         named ? info.shapeValue : shape};
    };
    for (uint32_t i = 0; i < dimValue && i < sim::kSliceDims; ++i) {
        call.target_slices[i] = take(dstSlices[i], dst.GetShapeInfo().shape[i]);
        call.source_slices[i] = take(srcSlices[i], src.GetShapeInfo().shape[i]);
    }
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                const SliceInfo dstSliceInfo[], const SliceInfo srcSliceInfo[],
                                const uint32_t dimValue = 1, sim::Site site = sim::Site::Here()) {
    CopySlices(dstLocal, srcGlobal, CopyElementBytes<T>(), dstSliceInfo, srcSliceInfo, dimValue, site);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                const SliceInfo dstSliceInfo[], const SliceInfo srcSliceInfo[],
                                const uint32_t dimValue = 1, sim::Site site = sim::Site::Here()) {
    CopySlices(dstGlobal, srcLocal, CopyElementBytes<T>(), dstSliceInfo, srcSliceInfo, dimValue, site);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                const DataCopyParams& intriParams, const DataCopyEnhancedParams& enhancedParams,
                                sim::Site site = sim::Site::Here()) {
    (void)enhancedParams;
    CopyBlocks(dstLocal, srcGlobal, CopyElementBytes<T>(), intriParams, site);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                const DataCopyParams& intriParams, const DataCopyEnhancedParams& enhancedParams,
                                sim::Site site = sim::Site::Here()) {
    (void)enhancedParams;
    CopyBlocks(dstGlobal, srcLocal, CopyElementBytes<T>(), intriParams, site);
}

// Paths that only other products have, or that are not modelled, end in a finding.
template <typename T, typename U>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const LocalTensor<U>& srcLocal,
                                const DataCopyParams& intriParams, const DataCopyEnhancedParams& enhancedParams,
                                sim::Site site = sim::Site::Here()) {
    (void)enhancedParams;
    CopyBlocks(dstLocal, srcLocal, CopyElementBytes<T>(), intriParams, site);
}

}  // namespace AscendC
