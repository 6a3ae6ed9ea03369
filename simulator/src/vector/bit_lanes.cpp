// SPDX-License-Identifier: Apache-2.0
#include "vector/bit_lanes.h"

#include <cstring>

#include "numerics/bits.h"

namespace ascend_attention::sim {

// Both work on eight lanes at a time as the bytes of one 64-bit word (little-endian, like every host this runs on).

ASCEND_SIM_CLONES void PackBits(std::uint8_t* bits, const std::uint8_t* flags, std::size_t count) {
    for (std::size_t i = 0; i < count / 8; ++i) {
        std::uint64_t word;
        std::memcpy(&word, flags + i * 8, sizeof(word));
        // Byte k times 2^(56 - 7k) lands on bit 56 + k; no two products meet.
        bits[i] = static_cast<std::uint8_t>((word * 0x0102040810204080U) >> 56);
    }
}

ASCEND_SIM_CLONES void UnpackBits(std::uint8_t* flags, const std::uint8_t* bits, std::size_t count) {
    for (std::size_t i = 0; i < (count + 7) / 8; ++i) {
        // Every byte of the word gets the eight bits and keeps its own.
        const std::uint64_t spread = (bits[i] * 0x0101010101010101U) & 0x8040201008040201U;
        const std::uint64_t word = ((spread + 0x7F7F7F7F7F7F7F7FU) | spread) >> 7 & 0x0101010101010101U;
        std::memcpy(flags + i * 8, &word, sizeof(word));
    }
}

}  // namespace ascend_attention::sim
