// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ascend_attention {

// kDocument: the limits of the operator's document. kExtended: lifts those that newer releases of the stock operator
// lift and real clients rely on; the mathematics is defined there.
enum class Contract : uint8_t { kDocument, kExtended };

}  // namespace ascend_attention
