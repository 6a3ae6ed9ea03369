// SPDX-License-Identifier: Apache-2.0
// Calls of the device headers that are not instructions of a family: scalar access, events, flags, identity.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

// One element of a tensor through the scalar unit. `bytes` is 1, 2, 4 or 8. `address` is the element's own.
ASCEND_SIM_API void ScalarLoad(const Operand& element, void* value, std::uint32_t bytes, const char* name, Site site);
ASCEND_SIM_API void ScalarStore(const Operand& element, const void* value, std::uint32_t bytes, const char* name,
                                Site site);

}  // namespace ascend_attention::sim
