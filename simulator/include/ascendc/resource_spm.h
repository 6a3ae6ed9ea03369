// SPDX-License-Identifier: Apache-2.0
// TPipe's temporary data in a workspace: copies with all the order that their neighbours may need.
#pragma once

#include <cstdint>

#include "ascendc/data_copy.h"
#include "ascendc/resource_pipe.h"

namespace AscendC {

template <typename T>
void TPipe::WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const DataCopyParams& copyParams, int32_t writeOffset,
                           sim::Site site) {
    const GlobalTensor<T> spm = Spm<T>(writeOffset, "WriteSpmBuffer", site);
    Order<HardEvent::V_MTE3>(site);
    Order<HardEvent::MTE2_MTE3>(site);
    DataCopy(spm, writeBuffer, copyParams, site);
    Order<HardEvent::MTE3_MTE2>(site);
    Order<HardEvent::MTE3_V>(site);
}

template <typename T>
void TPipe::ReadSpmBuffer(const LocalTensor<T>& readBuffer, const DataCopyParams& copyParams, int32_t readOffset,
                          sim::Site site) {
    const GlobalTensor<T> spm = Spm<T>(readOffset, "ReadSpmBuffer", site);
    Order<HardEvent::V_MTE2>(site);
    DataCopy(readBuffer, spm, copyParams, site);
    Order<HardEvent::MTE2_V>(site);
    Order<HardEvent::MTE2_MTE3>(site);
}

namespace detail {

// `size` elements, or as many as the tensor's shape says, as one copy.
template <typename T>
DataCopyParams OneCopy(const LocalTensor<T>& tensor, int32_t size) {
    const int32_t count = size != 0 ? size : GetShapeSize(tensor.GetShapeInfo());
    DataCopyParams params;
    params.blockLen = static_cast<uint16_t>(BytesOf<T>(static_cast<uint64_t>(count)) / ONE_BLK_SIZE);
    return params;
}

}  // namespace detail

template <typename T>
void TPipe::WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const int32_t writeSize, int32_t writeOffset,
                           sim::Site site) {
    WriteSpmBuffer(writeBuffer, detail::OneCopy(writeBuffer, writeSize), writeOffset, site);
}
template <typename T>
void TPipe::ReadSpmBuffer(const LocalTensor<T>& readBuffer, const int32_t readSize, int32_t readOffset,
                          sim::Site site) {
    ReadSpmBuffer(readBuffer, detail::OneCopy(readBuffer, readSize), readOffset, site);
}

}  // namespace AscendC
