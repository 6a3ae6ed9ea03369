// SPDX-License-Identifier: Apache-2.0
// The processors we plan for (Atlas A2 and A3, architecture 2201): one row per SoC of the vendor's platform files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace ascend_attention {

struct Soc {
    std::string name;
    int32_t aic_count = 0;  // AI cube cores, each with two vector cores; a mix kernel runs one block on each
};

// Every SoC we know, in the vendor's order.
const std::vector<Soc>& KnownSocs();
// Looks `name` ("Ascend910B2") up; an unknown name is refused with the list of known ones.
Status FindSoc(const std::string& name, Soc* soc);

}  // namespace ascend_attention
