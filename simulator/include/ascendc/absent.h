// SPDX-License-Identifier: Apache-2.0
// Calls of the cube and data movement interface that Atlas A2 and A3 do not have. Kernels written for several products
// name them; one that reaches such a call ends in a finding.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ascendc/cube_params.h"
#include "ascendc/data_copy_params.h"
#include "ascendc/tensor.h"
#include "machine/cube_calls.h"

namespace AscendC {

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2DParamsV2&,
                                sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("LoadData", "LoadData with LoadData2DParamsV2", site);
}

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>&, const GlobalTensor<T>&, const LoadData2DParamsV2&,
                                sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("LoadData", "LoadData with LoadData2DParamsV2", site);
}

template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>&, const LocalTensor<T>&,
                                             const LoadData2dTransposeParamsV2&, sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("LoadDataWithTranspose", "LoadDataWithTranspose with LoadData2dTransposeParamsV2", site);
}

template <typename T>
__aicore__ inline void LoadDataUnzip(const LocalTensor<T>&, const GlobalTensor<T>&,
                                     sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("LoadDataUnzip", "LoadDataUnzip", site);
}

template <typename T = int8_t, typename std::enable_if<IsSameType<PrimT<T>, int8_t>::value, bool>::type = true>
__aicore__ inline void LoadUnzipIndex(const GlobalTensor<T>&, uint32_t, sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("LoadUnzipIndex", "LoadUnzipIndex", site);
}

template <typename T, typename U>
__aicore__ inline void BroadCastVecToMM(const LocalTensor<T>&, const LocalTensor<U>&, const int32_t, const uint8_t,
                                        const uint8_t, const uint8_t, sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("BroadCastVecToMM", "BroadCastVecToMM", site);
}

__aicore__ inline void SetFixPipeClipRelu(uint64_t, sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("SetFixPipeClipRelu", "SetFixPipeClipRelu", site);
}

template <typename T>
__aicore__ inline void SetFixPipeAddr(const LocalTensor<T>&, uint16_t, sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("SetFixPipeAddr", "SetFixPipeAddr", site);
}

template <typename T, uint8_t subBlockId = 0>
__aicore__ inline void DataCopyL1ToUB(const LocalTensor<T>&, const LocalTensor<T>&, const uint32_t,
                                      sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("DataCopyL1ToUB", "DataCopyL1ToUB", site);
}

template <typename T, uint8_t subBlockId = 0>
__aicore__ inline void DataCopyL1ToUB(const LocalTensor<T>&, const LocalTensor<T>&, const DataCopyParams&,
                                      sim::Site site = sim::Site::Here()) {
    sim::NotOnThisArchitecture("DataCopyL1ToUB", "DataCopyL1ToUB", site);
}

}  // namespace AscendC
