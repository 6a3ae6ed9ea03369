// SPDX-License-Identifier: Apache-2.0
// printf, assertions and tensor dumps of device code.
#pragma once

#include <cstdint>
#include <cstdio>  // before printf becomes a macro, so that a kernel may include it later
#include <type_traits>

#include "ascendc/tensor.h"
#include "machine/print_calls.h"

namespace AscendC {

namespace detail {

template <typename T>
sim::PrintValue ToPrintValue(const T& given) {
    using P = std::decay_t<T>;
    sim::PrintValue value;
    if constexpr (std::is_same_v<P, half> || std::is_same_v<P, bfloat16_t> || std::is_floating_point_v<P>) {
        value.kind = sim::PrintValue::Kind::kFloat;
        value.real = static_cast<double>(given);
    } else if constexpr (std::is_same_v<P, const char*> || std::is_same_v<P, char*>) {
        value.kind = sim::PrintValue::Kind::kText;
        value.pointer = given;
    } else if constexpr (std::is_null_pointer_v<P>) {
        value.kind = sim::PrintValue::Kind::kPointer;
    } else if constexpr (std::is_pointer_v<P>) {
        value.kind = sim::PrintValue::Kind::kPointer;
        value.pointer = reinterpret_cast<const void*>(given);
    } else if constexpr (std::is_enum_v<P>) {
        return ToPrintValue(static_cast<std::underlying_type_t<P>>(given));
    } else if constexpr (std::is_integral_v<P>) {
        value.kind = std::is_signed_v<P> ? sim::PrintValue::Kind::kSigned : sim::PrintValue::Kind::kUnsigned;
        value.integer = static_cast<int64_t>(given);
    } else {
        // tensor(i) is a value of its element type.
        return ToPrintValue(static_cast<typename P::ValueType>(given));
    }
    return value;
}

template <typename... Args>
void Print(sim::Site site, const char* format, const Args&... args) {
    const sim::PrintValue values[sizeof...(Args) + 1] = {ToPrintValue(args)...};
    sim::Print(format, values, sizeof...(Args), site);
}

[[noreturn]] inline void AssertFailed(const char* condition, const char* function, sim::Site site) {
    sim::AssertFailed(condition, function, site, nullptr, nullptr, 0);
}
template <typename... Args>
[[noreturn]] void AssertFailed(const char* condition, const char* function, sim::Site site, const char* format,
                               const Args&... args) {
    const sim::PrintValue values[sizeof...(Args) + 1] = {ToPrintValue(args)...};
    sim::AssertFailed(condition, function, site, format, values, sizeof...(Args));
}

}  // namespace detail

template <class... Args>
void printf(__gm__ const char* fmt, Args&&... args) {
    detail::Print(sim::Site{"", 0}, fmt, args...);
}
template <class... Args>
void PRINTF(__gm__ const char* fmt, Args&&... args) {
    detail::Print(sim::Site{"", 0}, fmt, args...);
}

inline void Trap(sim::Site site = sim::Site::Here()) { sim::Trap(site); }

namespace detail {

template <typename Tensor>
void Dump(const char* name, const Tensor& tensor, uint32_t tag, uint32_t count, const ShapeInfo* shape,
          sim::Site site) {
    using P = typename Tensor::PrimType;
    sim::DumpCall call;
    call.name = name;
    call.operand = ToOperand(tensor);
    call.element_bytes = sizeof(P);
    call.boolean = std::is_same_v<P, bool>;
    call.tag = tag;
    call.count = count;
    call.dims = shape != nullptr ? shape->shapeDim : 0;
    call.shape = shape != nullptr ? shape->shape : nullptr;
    call.site = site;
    sim::Dump(call);
}

}  // namespace detail

template <typename T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, sim::Site site = sim::Site::Here()) {
    detail::Dump("DumpTensor", tensor, desc, dumpSize, nullptr, site);
}
template <typename T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, sim::Site site = sim::Site::Here()) {
    detail::Dump("DumpTensor", tensor, desc, dumpSize, nullptr, site);
}
template <typename T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo& shapeInfo,
                sim::Site site = sim::Site::Here()) {
    detail::Dump("DumpTensor", tensor, desc, dumpSize, &shapeInfo, site);
}
template <typename T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo& shapeInfo,
                sim::Site site = sim::Site::Here()) {
    detail::Dump("DumpTensor", tensor, desc, dumpSize, &shapeInfo, site);
}
template <typename T>
void DumpAccChkPoint(const LocalTensor<T>& tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize,
                     sim::Site site = sim::Site::Here()) {
    detail::Dump("DumpAccChkPoint", tensor[countOff], index, dumpSize, nullptr, site);
}
template <typename T>
void DumpAccChkPoint(const GlobalTensor<T>& tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize,
                     sim::Site site = sim::Site::Here()) {
    detail::Dump("DumpAccChkPoint", tensor[countOff], index, dumpSize, nullptr, site);
}

// Off unless the kernel is compiled with ASCENDC_TIME_STAMP_ON, as on the device.
inline void PrintTimeStamp(uint32_t descId, sim::Site site = sim::Site::Here()) {
#ifdef ASCENDC_TIME_STAMP_ON
    sim::PrintTime(descId, site);
#else
    (void)descId;
    (void)site;
#endif
}

inline void MetricsProfStart() {}
inline void MetricsProfStop() {}

}  // namespace AscendC

[[noreturn]] inline void trap(ascend_attention::sim::Site site = ascend_attention::sim::Site::Here()) {
    ascend_attention::sim::Trap(site);
}

// Kernels call printf qualified and unqualified, with and without the C library's declaration in sight. One name that
// means the same in every scope cannot be ambiguous and cannot end up in the host's function.
template <class... Args>
void AscendDevicePrintf(ascend_attention::sim::Site site, const char* format, Args&&... args) {
    AscendC::detail::Print(site, format, args...);
}
namespace AscendC {
using ::AscendDevicePrintf;
}
namespace std {
using ::AscendDevicePrintf;
}
#define ASCEND_SIM_SITE (::ascend_attention::sim::Site{__FILE__, __LINE__})
#define printf(...) AscendDevicePrintf(ASCEND_SIM_SITE, __VA_ARGS__)
#ifndef PRINTF
#define PRINTF(...) AscendDevicePrintf(ASCEND_SIM_SITE, __VA_ARGS__)
#endif

// An expression, as the device's: assert(x), assert(x, "text %d", y).
#define ASCEND_SIM_ASSERT(condition, ...) \
    (static_cast<bool>(condition)         \
         ? void(0)                        \
         : ::AscendC::detail::AssertFailed(#condition, __func__, ASCEND_SIM_SITE, ##__VA_ARGS__))
#undef assert
#undef ascendc_assert
#define assert(...) ASCEND_SIM_ASSERT(__VA_ARGS__)
#define ascendc_assert(...) ASCEND_SIM_ASSERT(__VA_ARGS__)
#ifndef ASSERT
#define ASSERT(...) ASCEND_SIM_ASSERT(__VA_ARGS__)
#endif
#ifndef ASSERT_MSG
#define ASSERT_MSG(...) ASCEND_SIM_ASSERT(__VA_ARGS__)
#endif
// 8.x: what to do before the core stops.
#ifndef ASCENDC_ASSERT
#define ASCENDC_ASSERT(condition, ...)    \
    do {                                  \
        if (!(condition)) {               \
            __VA_ARGS__;                  \
            ASCEND_SIM_ASSERT(condition); \
        }                                 \
    } while (false)
#endif
#ifndef KERNEL_LOG
#define KERNEL_LOG(level, ...) printf(__VA_ARGS__)
#endif
