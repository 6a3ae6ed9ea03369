// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ascend_attention::sim {

// Which figures timed mode goes by where published ones differ: what somebody measured, or what the vendor documents.
enum class CostSource : std::uint8_t { kMeasured, kDocumented };

}  // namespace ascend_attention::sim
