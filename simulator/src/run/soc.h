// SPDX-License-Identifier: Apache-2.0
// The systems on chip of architecture 2201.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/call.h"

namespace ascend_attention::sim {

struct Soc {
    const char* name;
    std::uint32_t cube_cores;  // each with two vector cores; the limit for a launch
    double clock_hz;
    double hbm_share;  // of the HBM bandwidth of a full device
    std::uint64_t l2_bytes;
};

ASCEND_SIM_API const std::vector<Soc>& SocTable();
// Throws std::invalid_argument, naming the known ones.
const Soc& FindSoc(const std::string& name);

}  // namespace ascend_attention::sim
