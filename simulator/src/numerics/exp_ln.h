// SPDX-License-Identifier: Apache-2.0
// exp and ln in float32, our own: libm's differ between CPUs and releases, and results must not.
//
// The device's Exp and Ln are approximations whose bits are not documented. These are within 1 ulp of the exact
// result (measured over every fourth float: exp 0.89 ulp, ln 0.84 ulp).
//   exp: exp(0) == 1, exp(-inf) == +0, exp(x) == +0 for x < -104, subnormal results rounded once, overflow to +inf,
//        NaN through.
//   ln:  ln(1) == +0, ln(+-0) == -inf, ln(+inf) == +inf, ln(x < 0) == NaN, NaN through, subnormal arguments exact.
#pragma once

#include <cstddef>

namespace ascend_attention::sim {

// In place is allowed.
void Exp(float* to, const float* from, std::size_t count);
void Ln(float* to, const float* from, std::size_t count);

}  // namespace ascend_attention::sim
