// SPDX-License-Identifier: Apache-2.0
// Small arithmetic and type helpers that kernels take from the Ascend C headers.
#pragma once

#include <cstdint>

#include "ascendc/system_macros.h"

namespace AscendC {

constexpr int32_t K_MAX_DIM = 8;

__aicore__ constexpr inline uint32_t DivCeil(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
__aicore__ constexpr inline uint32_t ConstCeil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
__aicore__ constexpr inline uint32_t Ceil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
__aicore__ constexpr inline uint32_t AlignUp(uint32_t a, uint32_t b) { return DivCeil(a, b) * b; }
// Unlike the others, 0 when the divisor is 0.
__aicore__ constexpr inline int32_t CeilDivision(int32_t num1, int32_t num2) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2;
}

template <bool condition, class T1, class T2>
struct Conditional {
    using type = T1;
};
template <class T1, class T2>
struct Conditional<false, T1, T2> {
    using type = T2;
};

}  // namespace AscendC
