// SPDX-License-Identifier: Apache-2.0
// What the CPU can do, where the compiler's own question does not work: __builtin_cpu_supports does not know "f16c" in
// GCC before 11 and in Clang.
#pragma once

namespace ascend_attention::sim {

// AVX2 and F16C, both usable: AVX2 as the compiler reports it includes that the operating system saves the registers.
// False on other architectures.
bool HasF16c();

}  // namespace ascend_attention::sim
