// SPDX-License-Identifier: Apache-2.0
// What the sanitizers must be told about the machine: memory that belongs to nobody, and stacks that it switches.
// Nothing here does anything in an ordinary build.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASCEND_SIM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define ASCEND_SIM_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ASCEND_SIM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define ASCEND_SIM_TSAN 1
#endif

#ifdef ASCEND_SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ASCEND_SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace ascend_attention::sim {

#if defined(ASCEND_SIM_ASAN) || defined(ASCEND_SIM_TSAN)
inline constexpr bool kSanitized = true;  // frames are larger
#else
inline constexpr bool kSanitized = false;
#endif

#ifdef ASCEND_SIM_ASAN
inline constexpr bool kAddressSanitizer = true;
inline void ForbidMemory(const void* begin, std::size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void AllowMemory(const void* begin, std::size_t bytes) { __asan_unpoison_memory_region(begin, bytes); }
#else
inline constexpr bool kAddressSanitizer = false;
inline void ForbidMemory(const void*, std::size_t) {}
inline void AllowMemory(const void*, std::size_t) {}
#endif

}  // namespace ascend_attention::sim
