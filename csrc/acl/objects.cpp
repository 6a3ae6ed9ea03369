// SPDX-License-Identifier: Apache-2.0
#include "acl/objects.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "acl/failure.h"
#include "aclnn/opdev/op_errno.h"
#include "common/text.h"

namespace ascend_attention::acl {
namespace {

constexpr std::uint64_t kMostDimensions = 25;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 32;

template <class T>
std::shared_ptr<T> Require(Kind kind, const void* handle) {
    std::shared_ptr<T> found = Find<T>(kind, handle);
    if (found == nullptr) {
        throw Failure(handle == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                      Concat("given ", DescribeHandle(handle), "; allowed: ", NameOf(kind)));
    }
    return found;
}

void RequirePlace(const void* place) {
    if (place == nullptr) {
        throw Failure(ACLNN_ERR_PARAM_NULLPTR, "given nullptr; allowed: where the answer goes");
    }
}

// Here and below: `function` is the C function that calls, by whose name a refusal begins.
// A constructor as a C function: null instead of an exception.
template <class Handle, class Make>
Handle* New(Make make, const char* function = __builtin_FUNCTION()) {
    Handle* handle = nullptr;
    Guarded(function, [&] { handle = static_cast<Handle*>(make()); });
    return handle;
}

template <class Value, class Given>
void* NewArray(Kind kind, const Given* value, std::uint64_t size) {
    if ((value == nullptr && size > 0) || size > kMostEntries) {
        throw Failure(ACLNN_ERR_PARAM_NULLPTR, Concat("value: nullptr, or too many (", size, ")"));
    }
    return AddHandle(kind, std::make_shared<Array<Value>>(value, value + size));
}

aclnnStatus Destroy(Kind kind, const void* handle, const char* function = __builtin_FUNCTION()) {
    return Guarded(function, [&] {
        if (handle != nullptr && TakeHandle(kind, handle) == nullptr) {
            throw Failure(ACLNN_ERR_PARAM_INVALID,
                          Concat("given ", DescribeHandle(handle), "; allowed: ", NameOf(kind)));
        }
    });
}

void* NewList(Kind kind, Kind member, const void* const* value, std::uint64_t size) {
    if ((value == nullptr && size > 0) || size > kMostEntries) {
        throw Failure(ACLNN_ERR_PARAM_NULLPTR, Concat("value: nullptr, or too many (", size, ")"));
    }
    for (std::uint64_t i = 0; i < size; ++i) {
        Require<void>(member, value[i]);
    }
    return AddHandle(kind, std::make_shared<List>(value, value + size));
}

aclnnStatus DestroyList(Kind kind, Kind member, const void* handle, const char* function = __builtin_FUNCTION()) {
    return Guarded(function, [&] {
        if (handle == nullptr) {
            return;
        }
        const std::shared_ptr<List> list = Take<List>(kind, handle);
        if (list == nullptr) {
            throw Failure(ACLNN_ERR_PARAM_INVALID,
                          Concat("given ", DescribeHandle(handle), "; allowed: ", NameOf(kind)));
        }
        for (const void* entry : *list) {
            TakeHandle(member, entry);  // the caller may have destroyed it, although the list owned it
        }
    });
}

template <class T>
aclnnStatus SizeOf(Kind kind, const void* handle, uint64_t* size, const char* function = __builtin_FUNCTION()) {
    return Guarded(function, [&] {
        const std::shared_ptr<T> array = Require<T>(kind, handle);
        RequirePlace(size);
        *size = array->size();
    });
}

std::vector<std::int64_t> Dimensions(const char* name, const std::int64_t* values, std::uint64_t count) {
    if (count > kMostDimensions || (values == nullptr && count > 0)) {
        throw Failure(ACLNN_ERR_PARAM_INVALID, Concat(name, ": nullptr, or more than ", kMostDimensions));
    }
    return {values, values + count};
}

std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) {
        // Shapes that no memory holds are refused by the operators, which name them.
        if (__builtin_mul_overflow(strides[i], std::max<std::int64_t>(shape[i], 1), &strides[i - 1])) {
            strides[i - 1] = 0;
        }
    }
    return strides;
}

aclnnStatus GiveAway(const aclTensor* tensor, std::vector<std::int64_t> Tensor::* member, int64_t** values,
                     uint64_t* count, const char* function = __builtin_FUNCTION()) {
    return Guarded(function, [&] {
        const std::shared_ptr<Tensor> found = Require<Tensor>(Kind::kTensor, tensor);
        RequirePlace(values);
        RequirePlace(count);
        const std::vector<std::int64_t>& from = (*found).*member;
        *values = new int64_t[from.size()];
        std::copy(from.begin(), from.end(), *values);
        *count = from.size();
    });
}

template <class Value>
aclnnStatus Get(const aclTensor* tensor, Value Tensor::* member, Value* value,
                const char* function = __builtin_FUNCTION()) {
    return Guarded(function, [&] {
        const std::shared_ptr<Tensor> found = Require<Tensor>(Kind::kTensor, tensor);
        RequirePlace(value);
        *value = (*found).*member;
    });
}

}  // namespace
}  // namespace ascend_attention::acl

using namespace ascend_attention;
using namespace ascend_attention::acl;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
    return New<aclTensor>([&] {
        auto tensor = std::make_shared<Tensor>();
        tensor->address = tensorData;
        tensor->dtype = dataType;
        tensor->format = format;
        tensor->offset = offset;
        tensor->shape = Dimensions("viewDims", viewDims, viewDimsNum);
        tensor->strides =
            stride == nullptr ? ContiguousStrides(tensor->shape) : Dimensions("stride", stride, viewDimsNum);
        tensor->storage = Dimensions("storageDims", storageDims, storageDimsNum);
        std::int64_t bytes = 0;
        if (offset < 0 || __builtin_mul_overflow(offset, std::int64_t(aclDataTypeSize(dataType)), &bytes)) {
            throw Failure(ACLNN_ERR_PARAM_INVALID, Concat("offset: ", offset, "; allowed: 0 to the end of a memory"));
        }
        return AddHandle(Kind::kTensor, std::move(tensor));
    });
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    return New<aclScalar>([&] {
        const std::size_t bytes = aclDataTypeSize(dataType);
        if (value == nullptr || bytes == 0) {
            throw Failure(ACLNN_ERR_PARAM_INVALID, "value: nullptr, or of a type without a size");
        }
        const auto* from = static_cast<const unsigned char*>(value);
        return AddHandle(Kind::kScalar, std::make_shared<Scalar>(Scalar{{from, from + bytes}, dataType}));
    });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return New<aclIntArray>([&] { return NewArray<std::int64_t>(Kind::kIntArray, value, size); });
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return New<aclFloatArray>([&] { return NewArray<float>(Kind::kFloatArray, value, size); });
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return New<aclBoolArray>([&] { return NewArray<unsigned char>(Kind::kBoolArray, value, size); });
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    return New<aclTensorList>(
        [&] { return NewList(Kind::kTensorList, Kind::kTensor, reinterpret_cast<const void* const*>(value), size); });
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    return New<aclScalarList>(
        [&] { return NewList(Kind::kScalarList, Kind::kScalar, reinterpret_cast<const void* const*>(value), size); });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return Destroy(Kind::kTensor, tensor); }
aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return Destroy(Kind::kScalar, scalar); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return Destroy(Kind::kIntArray, array); }
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) { return Destroy(Kind::kFloatArray, array); }
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return Destroy(Kind::kBoolArray, array); }
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
    return DestroyList(Kind::kTensorList, Kind::kTensor, array);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
    return DestroyList(Kind::kScalarList, Kind::kScalar, array);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return GiveAway(tensor, &Tensor::shape, viewDims, viewDimsNum);
}
aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    return GiveAway(tensor, &Tensor::storage, storageDims, storageDimsNum);
}
aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    return GiveAway(tensor, &Tensor::strides, stridesValue, stridesNum);
}
aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) { return Get(tensor, &Tensor::offset, offset); }
aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) { return Get(tensor, &Tensor::format, format); }
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return Get(tensor, &Tensor::dtype, dataType);
}
aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) { return Get(tensor, &Tensor::address, addr); }

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
    return Guarded([&] { Require<Tensor>(Kind::kTensor, tensor)->address = addr; });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return SizeOf<IntArray>(Kind::kIntArray, array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return SizeOf<FloatArray>(Kind::kFloatArray, array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return SizeOf<BoolArray>(Kind::kBoolArray, array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
    return SizeOf<List>(Kind::kTensorList, tensorList, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
    return SizeOf<List>(Kind::kScalarList, scalarList, size);
}
