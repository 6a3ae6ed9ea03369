// SPDX-License-Identifier: Apache-2.0
// LocalTensor and GlobalTensor. A tensor is only an address with bounds; nothing here touches memory except through
// the machine. Public functions that a kernel calls take a trailing Site, so that a finding points at the kernel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ascendc/system_macros.h"
#include "ascendc/tensor_position.h"
#include "ascendc/tensor_scalar.h"
#include "machine/call.h"
#include "machine/core_calls.h"

namespace AscendC {

namespace sim = ascend_attention::sim;

template <typename T>
struct TensorTrait {
    using LiteType = T;
};

template <typename T>
struct PrimTypeOf {
    using Type = T;
};
template <typename T>
struct PrimTypeOf<TensorTrait<T>> {
    using Type = T;
};
template <typename T>
using PrimT = typename PrimTypeOf<T>::Type;

template <typename T, typename U>
struct IsSameType {
    static constexpr bool value = std::is_same_v<T, U>;
};

template <typename T>
constexpr sim::DType DTypeOf() {
    using sim::DType;
    using P = std::remove_cv_t<PrimT<T>>;
    if constexpr (std::is_same_v<P, half>) {
        return DType::kFloat16;
    } else if constexpr (std::is_same_v<P, bfloat16_t>) {
        return DType::kBfloat16;
    } else if constexpr (std::is_same_v<P, float>) {
        return DType::kFloat32;
    } else if constexpr (std::is_same_v<P, int4b_t>) {
        return DType::kInt4;
    } else if constexpr (std::is_same_v<P, int8_t>) {
        return DType::kInt8;
    } else if constexpr (std::is_same_v<P, uint8_t> || std::is_same_v<P, bool>) {
        return DType::kUint8;
    } else if constexpr (std::is_integral_v<P> && sizeof(P) == 2) {
        return std::is_signed_v<P> ? DType::kInt16 : DType::kUint16;
    } else if constexpr (std::is_integral_v<P> && sizeof(P) == 4) {
        return std::is_signed_v<P> ? DType::kInt32 : DType::kUint32;
    } else if constexpr (std::is_integral_v<P> && sizeof(P) == 8) {
        return std::is_signed_v<P> ? DType::kInt64 : DType::kUint64;
    } else {
        return DType::kOther;
    }
}

// Bytes of `count` elements.
template <typename T>
constexpr uint64_t BytesOf(uint64_t count) {
    return std::is_same_v<PrimT<T>, int4b_t> ? count / INT4_TWO : count * sizeof(PrimT<T>);
}

enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC };
enum class CacheMode { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1, CACHE_MODE_LAST = 2, CACHE_MODE_PERSISTENT = 4 };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };

// What a kernel says about the shape of a tensor. Kept for it, used by nothing here.
struct ShapeInfo {
    ShapeInfo() = default;
    ShapeInfo(const uint8_t dims, const uint32_t sizes[], const uint8_t originalDims, const uint32_t originalSizes[],
              const DataFormat format)
        : shapeDim(dims), originalShapeDim(originalDims), dataFormat(format) {
        for (int i = 0; i < dims && i < K_MAX_SHAPE_DIM; ++i) {
            shape[i] = sizes[i];
        }
        for (int i = 0; i < originalDims && i < K_MAX_SHAPE_DIM; ++i) {
            originalShape[i] = originalSizes[i];
        }
    }
    ShapeInfo(const uint8_t dims, const uint32_t sizes[], const DataFormat format)
        : ShapeInfo(dims, sizes, dims, sizes, format) {}
    ShapeInfo(const uint8_t dims, const uint32_t sizes[]) : ShapeInfo(dims, sizes, dims, sizes, DataFormat::ND) {}

    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[K_MAX_SHAPE_DIM] = {};
    uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
    DataFormat dataFormat = DataFormat::ND;
};

inline int GetShapeSize(const ShapeInfo& info) {
    int size = 1;
    for (int i = 0; i < info.shapeDim; ++i) {
        size *= static_cast<int>(info.shape[i]);
    }
    return size;
}

using TBufHandle = uint8_t*;
using TEventID = int8_t;
using TTagType = int32_t;

// Where a tensor lies: `bufferAddr` and `dataLen` in bytes within its memory, and the buffer it was cut from.
struct TBuffAddr {
    uint32_t dataLen = 0;
    uint32_t bufferAddr = 0;
    TBufHandle bufferHandle = nullptr;
    uint8_t logicPos = static_cast<uint8_t>(TPosition::VECCALC);
    uint32_t bufferBegin = 0;
    uint32_t bufferEnd = 0;  // 0: no buffer known, the whole memory
    bool placed = false;     // at an address of the kernel's own choice
};

namespace detail {

// Of a tensor that was only declared: nobody has said where it lies.
constexpr bool IsUnset(const TBuffAddr& address) {
    return address.bufferHandle == nullptr && address.dataLen == 0 && address.bufferAddr == 0 &&
           address.bufferEnd == 0 && !address.placed && address.logicPos == static_cast<uint8_t>(TPosition::VECCALC);
}

}  // namespace detail

// What `tensor(i)` yields: a read or a write of one element by the scalar unit.
template <typename T>
class ScalarReference {
public:
    using ValueType = T;

    ScalarReference(const sim::Operand& element, const sim::Site& site) : element_(element), site_(site) {}
    operator T() const {
        T value;
        sim::ScalarLoad(element_, &value, sizeof(T), "operator()", site_);
        return value;
    }
    // A real reference would convert to half and bfloat16_t too; built-in types go through T.
    template <typename U,
              typename = std::enable_if_t<std::is_class_v<U> && !std::is_same_v<U, T> && std::is_convertible_v<T, U>>>
    operator U() const {
        return static_cast<U>(static_cast<T>(*this));
    }
    ScalarReference& operator=(T value) {
        sim::ScalarStore(element_, &value, sizeof(T), "operator()", site_);
        return *this;
    }
    ScalarReference& operator=(const ScalarReference& other) { return *this = static_cast<T>(other); }

private:
    sim::Operand element_;
    sim::Site site_;
};

// src0 + src1 and src0 < src1 of whole tensors (vector_operators.h).
template <typename T>
struct BinaryExpression;
template <typename T>
struct CompareExpression;

// The right side of an assignment, and where that stands: an operator itself has no default argument to tell it.
template <typename Expression>
struct Assigned {
    Assigned(const Expression& right, sim::Site at = sim::Site::Here()) : expression(right), site(at) {}
    const Expression& expression;
    sim::Site site;
};

template <typename T>
class LocalTensor {
public:
    using PrimType = PrimT<T>;

    LocalTensor() = default;
    // 9.x: a tensor at a byte address of a memory, without TPipe.
    LocalTensor(TPosition position, uint32_t address, uint32_t count) {
        address_.logicPos = static_cast<uint8_t>(position);
        address_.bufferAddr = address;
        address_.dataLen = static_cast<uint32_t>(BytesOf<T>(count));
        address_.bufferBegin = address;
        address_.bufferEnd = address + address_.dataLen;
        address_.placed = true;
    }

    void SetAddr(const TBuffAddr& address) { address_ = address; }
    template <typename U>
    void SetAddrWithOffset(LocalTensor<U>& source, uint32_t offset) {
        address_ = source.address_;
        address_.bufferAddr += static_cast<uint32_t>(BytesOf<U>(offset));
    }
    TBufHandle GetBufferHandle() const { return address_.bufferHandle; }
    uint64_t GetPhyAddr() const { return address_.bufferAddr; }
    uint64_t GetPhyAddr(const uint32_t offset) const { return address_.bufferAddr + BytesOf<T>(offset); }
    int32_t GetPosition() const { return address_.logicPos; }

    LocalTensor operator[](const uint32_t offset) const {
        LocalTensor result = *this;
        const uint32_t bytes = static_cast<uint32_t>(BytesOf<T>(offset));
        result.address_.bufferAddr += bytes;
        result.address_.dataLen = bytes < address_.dataLen ? address_.dataLen - bytes : 0;
        return result;
    }

    template <typename U>
    LocalTensor<U> ReinterpretCast() const {
        LocalTensor<U> result;
        result.SetAddr(address_);
        return result;
    }

    PrimType GetValue(const uint32_t index, sim::Site site = sim::Site::Here()) const {
        static_assert(!std::is_same_v<PrimType, int4b_t>, "a 4-bit element has no address");
        PrimType value;
        sim::ScalarLoad(Element(index), &value, sizeof(PrimType), "GetValue", site);
        return value;
    }
    template <typename U>
    void SetValue(const uint32_t index, const U value, sim::Site site = sim::Site::Here()) const {
        static_assert(!std::is_same_v<PrimType, int4b_t>, "a 4-bit element has no address");
        const PrimType element = static_cast<PrimType>(value);
        sim::ScalarStore(Element(index), &element, sizeof(PrimType), "SetValue", site);
    }
    ScalarReference<PrimType> operator()(const uint32_t index, sim::Site site = sim::Site::Here()) const {
        return ScalarReference<PrimType>(Element(index), site);
    }
    void operator=(const Assigned<BinaryExpression<T>>& assigned);
    void operator=(const Assigned<CompareExpression<float>>& assigned);
    void operator=(const Assigned<CompareExpression<half>>& assigned);

    void SetSize(const uint32_t size) { address_.dataLen = static_cast<uint32_t>(BytesOf<T>(size)); }
    uint32_t GetSize() const {
        return std::is_same_v<PrimType, int4b_t> ? address_.dataLen * INT4_TWO : address_.dataLen / sizeof(PrimType);
    }
    uint32_t GetLength() const { return address_.dataLen; }
    void SetBufferLen(uint32_t bytes) { address_.dataLen = bytes; }
    void SetUserTag(const TTagType tag) { user_tag_ = tag; }
    TTagType GetUserTag() const { return user_tag_; }
    void SetShapeInfo(const ShapeInfo& info) { shapeInfo_ = info; }
    ShapeInfo GetShapeInfo() const { return shapeInfo_; }

    TBuffAddr address_;
    ShapeInfo shapeInfo_;

private:
    sim::Operand Element(uint32_t index) const {
        sim::Operand operand;
        operand.space = SpaceOf(static_cast<TPosition>(address_.logicPos));
        operand.dtype = DTypeOf<T>();
        operand.address = address_.bufferAddr + BytesOf<T>(index);
        operand.begin = detail::IsUnset(address_) ? sim::kNoMemory : address_.bufferBegin;
        operand.end = address_.bufferEnd;
        operand.placed = address_.placed;
        return operand;
    }

    TTagType user_tag_ = -1;
};

template <typename T>
class GlobalTensor {
public:
    using PrimType = PrimT<T>;

    void SetGlobalBuffer(__gm__ PrimType* buffer, uint64_t bufferSize) {
        address_ = buffer;
        oriAddress_ = buffer;
        bufferSize_ = bufferSize;
    }
    void SetGlobalBuffer(__gm__ PrimType* buffer) {
        address_ = buffer;
        oriAddress_ = buffer;
    }
    void SetAddr(const uint64_t offset) { *this = (*this)[offset]; }

    const __gm__ PrimType* GetPhyAddr() const { return address_; }
    __gm__ PrimType* GetPhyAddr(const uint64_t offset) const { return (*this)[offset].address_; }

    GlobalTensor operator[](const uint64_t offset) const {
        GlobalTensor result = *this;
        result.address_ = Shifted(address_, offset);
        result.oriAddress_ = Shifted(oriAddress_, offset);
        return result;
    }

    PrimType GetValue(const uint64_t offset, sim::Site site = sim::Site::Here()) const {
        PrimType value;
        sim::ScalarLoad(Element(offset), &value, sizeof(PrimType), "GetValue", site);
        return value;
    }
    void SetValue(const uint64_t offset, PrimType value, sim::Site site = sim::Site::Here()) {
        sim::ScalarStore(Element(offset), &value, sizeof(PrimType), "SetValue", site);
    }
    ScalarReference<PrimType> operator()(const uint64_t offset, sim::Site site = sim::Site::Here()) const {
        return ScalarReference<PrimType>(Element(offset), site);
    }

    uint64_t GetSize() const { return bufferSize_; }
    void SetShapeInfo(const ShapeInfo& info) { shapeInfo_ = info; }
    ShapeInfo GetShapeInfo() const { return shapeInfo_; }
    template <CacheRwMode rwMode = CacheRwMode::RW>
    void SetL2CacheHint(CacheMode mode) {
        constexpr auto kWays = static_cast<uint8_t>(rwMode);
        bypassesL2_ =
            static_cast<uint8_t>(mode == CacheMode::CACHE_MODE_DISABLE ? bypassesL2_ | kWays : bypassesL2_ & ~kWays);
        cacheMode_ = mode;
    }

    __gm__ PrimType* address_ = nullptr;
    __gm__ PrimType* oriAddress_ = nullptr;
    uint64_t bufferSize_ = 0;
    ShapeInfo shapeInfo_;
    CacheMode cacheMode_ = CacheMode::CACHE_MODE_NORMAL;

private:
    template <typename U>
    friend sim::Operand ToOperand(const GlobalTensor<U>& tensor);

    // Offsets may be computed with wrap-around in 64 bits and run past the buffer; the machine judges the result.
    static __gm__ PrimType* Shifted(__gm__ PrimType* address, uint64_t offset) {
        return reinterpret_cast<__gm__ PrimType*>(reinterpret_cast<uint64_t>(address) + BytesOf<T>(offset));
    }
    sim::Operand Element(uint64_t offset) const {
        sim::Operand operand;
        operand.space = sim::Space::kGlobal;
        operand.dtype = DTypeOf<T>();
        operand.address = reinterpret_cast<uint64_t>(Shifted(address_, offset));
        return operand;
    }

    uint8_t bypassesL2_ = 0;  // a bit per direction, as CacheRwMode
};

template <typename T>
sim::Operand ToOperand(const LocalTensor<T>& tensor) {
    sim::Operand operand;
    operand.space = SpaceOf(static_cast<TPosition>(tensor.address_.logicPos));
    operand.dtype = DTypeOf<T>();
    operand.address = tensor.address_.bufferAddr;
    operand.begin = detail::IsUnset(tensor.address_) ? sim::kNoMemory : tensor.address_.bufferBegin;
    operand.end = tensor.address_.bufferEnd;
    operand.placed = tensor.address_.placed;
    return operand;
}

template <typename T>
sim::Operand ToOperand(const GlobalTensor<T>& tensor) {
    sim::Operand operand;
    operand.space = sim::Space::kGlobal;
    operand.dtype = DTypeOf<T>();
    operand.address = reinterpret_cast<uint64_t>(tensor.address_);
    operand.bypasses_l2 = tensor.bypassesL2_;
    return operand;
}

}  // namespace AscendC
