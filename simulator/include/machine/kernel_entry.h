// SPDX-License-Identifier: Apache-2.0
// The door of a kernel that Python compiled (ascend_attention.sim): one entry of fixed name and type that unpacks
// 64-bit words into the kernel's own parameter types, and a table of those types, which Python checks arguments
// against. Only the generated file that follows the kernel's source includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ascendc/tensor_scalar.h"
#include "machine/personality.h"

namespace ascend_attention::sim::entry {

// The same numbers are in python/ascend_attention/sim/_signature.py.
enum class Kind : std::uint32_t {
    kOther = 0,  // a struct, void, an element type that arrays do not have
    kBool = 1,
    kSigned = 2,
    kUnsigned = 3,
    kFloat = 4,
    kBfloat16 = 5,
};

struct Parameter {
    const char* type;       // the compiler's spelling, inside its name of TypeText
    std::uint32_t pointer;  // 1: kind and bytes are those of what it points to
    Kind kind;
    std::uint64_t bytes;  // 0: void
};

template <typename T>
constexpr const char* TypeText() {
    return __PRETTY_FUNCTION__;
}

template <typename T>
constexpr Kind KindOf() {
    if constexpr (std::is_enum_v<T>) {
        return KindOf<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return Kind::kBool;
    } else if constexpr (std::is_integral_v<T>) {
        return std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned;
    } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, half>) {
        return Kind::kFloat;
    } else if constexpr (std::is_same_v<T, bfloat16_t>) {
        return Kind::kBfloat16;
    } else {
        return Kind::kOther;
    }
}

template <typename T>
constexpr std::uint64_t BytesOf() {
    if constexpr (std::is_void_v<T> || std::is_function_v<T>) {
        return 0;
    } else {
        return sizeof(T);
    }
}

template <typename P>
constexpr Parameter Describe() {
    using Value = std::remove_cv_t<std::remove_pointer_t<P>>;
    return {TypeText<P>(), std::is_pointer_v<P> ? 1U : 0U, KindOf<Value>(), BytesOf<Value>()};
}

// A number lies in the low bytes of its word; a struct lies where the word points.
template <typename P>
P FromWord(std::uint64_t word) {
    constexpr bool kPlain = !std::is_reference_v<P> && std::is_trivially_copyable_v<P>;
    static_assert(kPlain, "a kernel's parameters are pointers, numbers and structs of such, without constructors");
    if constexpr (std::is_pointer_v<P>) {
        return reinterpret_cast<P>(word);
    } else if constexpr (kPlain) {
        std::remove_cv_t<P> value{};
        if constexpr (KindOf<std::remove_cv_t<P>>() == Kind::kOther) {
            std::memcpy(static_cast<void*>(&value), reinterpret_cast<const void*>(word), sizeof value);
        } else {
            static_assert(sizeof value <= sizeof word, "a number of more than 64 bits cannot be passed");
            std::memcpy(static_cast<void*>(&value), &word, sizeof value);
        }
        return value;
    }
}

template <typename... P, std::size_t... I>
void Unpack(void (*kernel)(P...), const std::uint64_t* words, std::index_sequence<I...>) {
    kernel(FromWord<P>(words[I])...);
}

template <typename... P>
void Call(void (*kernel)(P...), const std::uint64_t* words) {
    Unpack(kernel, words, std::index_sequence_for<P...>{});
}

template <typename Result, typename... P>
std::enable_if_t<!std::is_void_v<Result>> Call(Result (*)(P...), const std::uint64_t*) {
    static_assert(std::is_void_v<Result>, "a kernel returns nothing: void");
}

template <typename Result, typename... P>
std::enable_if_t<!std::is_void_v<Result>, std::uint32_t> Parameters(Result (*)(P...), const Parameter**) {
    return 0;
}

template <typename... P>
std::uint32_t Parameters(void (*)(P...), const Parameter** parameters) {
    static constexpr Parameter kTable[] = {Describe<P>()..., Parameter{nullptr, 0, Kind::kOther, 0}};
    *parameters = kTable;
    return sizeof...(P);
}

}  // namespace ascend_attention::sim::entry

#define ASCEND_ATTENTION_KERNEL_ENTRY(...)                                                                      \
    extern "C" __attribute__((visibility("default"))) void ascend_attention_entry(const std::uint64_t* words) { \
        ::ascend_attention::sim::entry::Call(&__VA_ARGS__, words);                                              \
    }                                                                                                           \
    extern "C" __attribute__((visibility("default"))) std::uint32_t ascend_attention_parameters(                \
        const ::ascend_attention::sim::entry::Parameter** parameters) {                                         \
        return ::ascend_attention::sim::entry::Parameters(&__VA_ARGS__, parameters);                            \
    }
