// SPDX-License-Identifier: Apache-2.0
// DataCopy, DataCopyPad, InitConstValue and InitOutput. Each call fills a descriptor; the machine
// (machine/move_calls.h) checks and executes it.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ascendc/data_copy_params.h"
#include "ascendc/tensor.h"
#include "machine/move_calls.h"

namespace AscendC {

// Bytes that one element of T counts for in copy parameters: 4-bit types are copied as bytes.
template <typename T>
constexpr uint32_t CopyElementBytes() {
    return static_cast<uint32_t>(sizeof(PrimT<T>));
}

template <typename T>
inline uint64_t ElementPattern(const T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <typename Destination, typename Source>
inline void CopyBlocks(const Destination& dst, const Source& src, uint32_t elementBytes, const DataCopyParams& params,
                       const sim::Site& site) {
    sim::CopyBlocksCall call;
    call.site = site;
    call.target = ToOperand(dst);
    call.source = ToOperand(src);
    call.element_bytes = elementBytes;
    call.block_count = params.blockCount;
    call.block_len = params.blockLen;
    call.source_gap = params.srcStride;
    call.target_gap = params.dstStride;
    sim::Execute(call);
}

template <typename Destination, typename Source>
inline void CopyElements(const Destination& dst, const Source& src, uint32_t elementBytes, uint32_t count,
                         const sim::Site& site) {
    sim::CopyCountCall call;
    call.site = site;
    call.target = ToOperand(dst);
    call.source = ToOperand(src);
    call.element_bytes = elementBytes;
    call.count = count;
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                const DataCopyParams& repeatParams, sim::Site site = sim::Site::Here()) {
    CopyBlocks(dstLocal, srcGlobal, CopyElementBytes<T>(), repeatParams, site);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                const DataCopyParams& repeatParams, sim::Site site = sim::Site::Here()) {
    CopyBlocks(dstGlobal, srcLocal, CopyElementBytes<T>(), repeatParams, site);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                                const DataCopyParams& repeatParams, sim::Site site = sim::Site::Here()) {
    CopyBlocks(dstLocal, srcLocal, CopyElementBytes<T>(), repeatParams, site);
}

// From L1 to the bias table, where half may become float.
template <typename dst_T, typename src_T>
__aicore__ inline void DataCopy(const LocalTensor<dst_T>& dstLocal, const LocalTensor<src_T>& srcLocal,
                                const DataCopyParams& repeatParams, sim::Site site = sim::Site::Here()) {
    CopyBlocks(dstLocal, srcLocal, CopyElementBytes<dst_T>(), repeatParams, site);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                const uint32_t calCount, sim::Site site = sim::Site::Here()) {
    CopyElements(dstLocal, srcGlobal, CopyElementBytes<T>(), calCount, site);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                const uint32_t calCount, sim::Site site = sim::Site::Here()) {
    CopyElements(dstGlobal, srcLocal, CopyElementBytes<T>(), calCount, site);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t calCount,
                                sim::Site site = sim::Site::Here()) {
    CopyElements(dstLocal, srcLocal, CopyElementBytes<T>(), calCount, site);
}

template <typename Params>
inline sim::CopyPadCall PadCall(const sim::Operand& dst, const sim::Operand& src, uint32_t elementBytes,
                                const Params& params, const sim::Site& site) {
    sim::CopyPadCall call;
    call.site = site;
    call.target = dst;
    call.source = src;
    call.element_bytes = elementBytes;
    call.block_count = params.blockCount;
    call.block_bytes = params.blockLen;
    call.source_gap = params.srcStride;
    call.target_gap = params.dstStride;
    return call;
}

template <typename T, typename Params, typename PadParams>
inline void PadIn(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Params& params,
                  const PadParams& padParams, uint64_t value, const sim::Site& site) {
    sim::CopyPadCall call = PadCall(ToOperand(dst), ToOperand(src), CopyElementBytes<T>(), params, site);
    call.pad = padParams.isPad;
    call.left_elements = padParams.leftPadding;
    call.right_elements = padParams.rightPadding;
    call.pad_value = value;
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                   const DataCopyParams& dataCopyParams, const DataCopyPadParams& padParams,
                                   sim::Site site = sim::Site::Here()) {
    PadIn(dstLocal, srcGlobal, dataCopyParams, padParams, padParams.paddingValue, site);
}

template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                   const DataCopyParams& dataCopyParams, sim::Site site = sim::Site::Here()) {
    sim::Execute(PadCall(ToOperand(dstGlobal), ToOperand(srcLocal), CopyElementBytes<T>(), dataCopyParams, site));
}

template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                   const DataCopyExtParams& dataCopyParams, const DataCopyPadExtParams<T>& padParams,
                                   sim::Site site = sim::Site::Here()) {
    PadIn(dstLocal, srcGlobal, dataCopyParams, padParams, ElementPattern(padParams.paddingValue), site);
}

// T is a TensorTrait, the padding value of its primitive type.
template <typename T, typename U,
          typename std::enable_if<IsSameType<PrimT<T>, U>::value && (!IsSameType<T, U>::value), bool>::type = true>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dstLocal, const GlobalTensor<T>& srcGlobal,
                                   const DataCopyExtParams& dataCopyParams, const DataCopyPadExtParams<U>& padParams,
                                   sim::Site site = sim::Site::Here()) {
    PadIn(dstLocal, srcGlobal, dataCopyParams, padParams, ElementPattern(padParams.paddingValue), site);
}

template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dstGlobal, const LocalTensor<T>& srcLocal,
                                   const DataCopyExtParams& dataCopyParams, sim::Site site = sim::Site::Here()) {
    sim::Execute(PadCall(ToOperand(dstGlobal), ToOperand(srcLocal), CopyElementBytes<T>(), dataCopyParams, site));
}

template <typename T, TPosition pos = TPosition::MAX>
__aicore__ inline void SetPadValue(T paddingValue, sim::Site site = sim::Site::Here()) {
    sim::SetPaddingValue(ElementPattern(paddingValue), site);
}

template <typename T, typename U>
inline void FillConst(const char* name, const LocalTensor<T>& dst, const InitConstValueParams<U>& params,
                      const sim::Site& site) {
    sim::InitConstCall call;
    call.site = site;
    call.name = name;
    call.target = ToOperand(dst);
    call.element_bytes = CopyElementBytes<T>();
    call.repeat_times = params.repeatTimes;
    call.block_count = params.blockNum;
    call.target_gap = params.dstGap;
    call.value = ElementPattern(params.initValue);
    sim::Execute(call);
}

template <typename T, typename U = PrimT<T>, typename std::enable_if<IsSameType<PrimT<T>, U>::value, bool>::type = true>
__aicore__ inline void InitConstValue(const LocalTensor<T>& dstLocal,
                                      const InitConstValueParams<U>& initConstValueParams,
                                      sim::Site site = sim::Site::Here()) {
    FillConst("InitConstValue", dstLocal, initConstValueParams, site);
}

// 9.x name of InitConstValue.
template <typename T, typename U = PrimT<T>, typename std::enable_if<IsSameType<PrimT<T>, U>::value, bool>::type = true>
__aicore__ inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams,
                            sim::Site site = sim::Site::Here()) {
    FillConst("Fill", dst, initConstValueParams, site);
}

template <typename T>
inline void FillGlobal(const char* name, const GlobalTensor<T>& dst, uint64_t size, T value, const sim::Site& site) {
    sim::InitOutputCall call;
    call.site = site;
    call.name = name;
    call.target = ToOperand(dst);
    call.element_bytes = CopyElementBytes<T>();
    call.count = size;
    call.value = ElementPattern(value);
    sim::Execute(call);
}

template <typename T>
__aicore__ inline void InitOutput(GlobalTensor<T> gmWorkspaceAddr, uint32_t size, T value = 0,
                                  sim::Site site = sim::Site::Here()) {
    FillGlobal("InitOutput", gmWorkspaceAddr, size, value, site);
}

// 9.x name of InitOutput.
template <typename T>
__aicore__ inline void Fill(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value,
                            sim::Site site = sim::Site::Here()) {
    FillGlobal("Fill", gmWorkspaceAddr, size, value, site);
}

}  // namespace AscendC
