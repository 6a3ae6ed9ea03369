// SPDX-License-Identifier: Apache-2.0
// One bit per lane, as Compare writes and Select reads them: lane i is bit i % 8 of byte i / 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ascend_attention::sim {

// `flags` holds 0 or 1 per lane; `count` is a multiple of 8.
void PackBits(std::uint8_t* bits, const std::uint8_t* flags, std::size_t count);
// Writes 0 or 1 for `count` lanes, rounded up to a multiple of 8.
void UnpackBits(std::uint8_t* flags, const std::uint8_t* bits, std::size_t count);

}  // namespace ascend_attention::sim
