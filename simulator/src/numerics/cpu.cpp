// SPDX-License-Identifier: Apache-2.0
#include "numerics/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ascend_attention::sim {

namespace {

bool AskForF16c() {
#if defined(__x86_64__)
    constexpr unsigned kF16cBit = 1U << 29;
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kF16cBit) != 0;
#else
    return false;
#endif
}

}  // namespace

bool HasF16c() {
    static const bool has = AskForF16c();
    return has;
}

}  // namespace ascend_attention::sim
