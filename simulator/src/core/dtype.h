// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

// Bits of an element. What kOther is nobody has told: it counts as a word.
constexpr std::uint32_t BitsOf(DType dtype) {
    switch (dtype) {
        case DType::kInt4:
            return 4;
        case DType::kInt8:
        case DType::kUint8:
            return 8;
        case DType::kFloat16:
        case DType::kBfloat16:
        case DType::kInt16:
        case DType::kUint16:
            return 16;
        case DType::kInt64:
        case DType::kUint64:
            return 64;
        default:
            return 32;
    }
}

}  // namespace ascend_attention::sim
