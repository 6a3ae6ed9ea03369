// SPDX-License-Identifier: Apache-2.0
// A list of tensors as the host leaves it in global memory, in 64-bit words: the byte offset of the pointers; for each
// tensor a word with its number of dimensions (low half) and its index (high half; of the first tensor it may be the
// number of tensors), and its dimensions; then the pointers. With no dimensions there is one such word, followed by
// 0xffffffff, and the pointers alone.
#pragma once

#include <cstdint>

#include "ascendc/tensor.h"
#include "machine/core_calls.h"

namespace AscendC {

class ListTensorDesc;

template <class T>
class TensorDesc {
public:
    // Where GetDesc puts the dimensions.
    __aicore__ void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
    __aicore__ uint64_t GetDim() const { return dimensions_; }
    __aicore__ uint64_t GetIndex() const { return index_; }
    __aicore__ uint64_t GetShape(uint32_t offset, sim::Site site = sim::Site::Here()) const {
        sim::RequireUse(shape_ != nullptr && offset < dimensions_, "GetShape",
                        "the tensor has no such dimension, or neither SetShapeAddr nor GetDesc was called", site);
        return shape_[offset];
    }
    __aicore__ __gm__ T* GetDataPtr() const { return pointer_; }
    __aicore__ GlobalTensor<T> GetDataObj() const {
        uint64_t count = 1;
        for (uint32_t i = 0; i < dimensions_; ++i) {
            count *= shape_[i];
        }
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(pointer_, count);
        return tensor;
    }

private:
    friend class ListTensorDesc;
    uint32_t dimensions_ = 0;
    uint32_t index_ = 0;
    uint64_t* shape_ = nullptr;
    __gm__ T* pointer_ = nullptr;
};

class ListTensorDesc {
public:
    ListTensorDesc() = default;
    __aicore__ ListTensorDesc(__gm__ void* data, uint32_t length = UINT32_MAX, uint32_t shapeSize = UINT32_MAX,
                              sim::Site site = sim::Site::Here()) {
        Init(data, length, shapeSize, site);
    }

    // `length` in bytes and `shapeSize`, the number of tensors, are only checked.
    __aicore__ void Init(__gm__ void* data, uint32_t length = UINT32_MAX, uint32_t shapeSize = UINT32_MAX,
                         sim::Site site = sim::Site::Here()) {
        words_.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(data));
        const uint64_t offset = words_.GetValue(0, site);
        const uint64_t first = words_.GetValue(1, site);
        dimensions_ = static_cast<uint32_t>(first);
        stride_ = dimensions_ == 0 ? 2 : 1 + uint64_t{dimensions_};
        sim::RequireUse(offset % 8 == 0 && offset / 8 >= 1 + stride_, "ListTensorDesc",
                        "the offset of the pointers leaves no room for the description of a tensor", site);
        pointers_ = offset / 8;
        count_ = static_cast<uint32_t>(first >> 32);
        if (count_ == 0) {
            count_ = static_cast<uint32_t>(words_.GetValue(pointers_ - stride_, site) >> 32) + 1;
        }
        const bool described = dimensions_ != 0 && pointers_ == 1 + count_ * stride_;
        const bool bare = dimensions_ == 0 && words_.GetValue(2, site) == UINT32_MAX && offset == 24;
        sim::RequireUse(described || bare, "ListTensorDesc", "the memory does not hold a list of tensors", site);
        if (length != UINT32_MAX && shapeSize != UINT32_MAX) {
            sim::RequireUse(count_ == shapeSize && length == offset + count_ * 8, "ListTensorDesc",
                            "length or shapeSize is not that of the list", site);
        }
    }

    template <class T>
    __aicore__ void GetDesc(TensorDesc<T>& desc, uint32_t index, sim::Site site = sim::Site::Here()) {
        sim::RequireUse(index < count_ && dimensions_ != 0, "GetDesc", "the list describes no tensor of this index",
                        site);
        sim::RequireUse(desc.shape_ != nullptr, "GetDesc", "SetShapeAddr was not called", site);
        desc.dimensions_ = dimensions_;
        desc.index_ = index;
        desc.pointer_ = GetDataPtr<T>(index, site);
        for (uint32_t i = 0; i < dimensions_; ++i) {
            desc.shape_[i] = words_.GetValue(2 + index * stride_ + i, site);
        }
    }
    template <class T>
    __aicore__ __gm__ T* GetDataPtr(uint32_t index, sim::Site site = sim::Site::Here()) {
        sim::RequireUse(index < count_, "GetDataPtr", "the list has no tensor of this index", site);
        return reinterpret_cast<__gm__ T*>(words_.GetValue(pointers_ + index, site));
    }
    __aicore__ uint32_t GetSize() const { return count_; }

private:
    GlobalTensor<uint64_t> words_;
    uint64_t pointers_ = 0;  // word of the first pointer
    uint64_t stride_ = 0;    // words of one description
    uint32_t dimensions_ = 0;
    uint32_t count_ = 0;
};

}  // namespace AscendC
