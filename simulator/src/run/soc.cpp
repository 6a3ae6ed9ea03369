// SPDX-License-Identifier: Apache-2.0
#include "run/soc.h"

#include <stdexcept>

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

}  // namespace

// Clocks and sizes: platform_config of CANN 8.1. The SoCs with 32 GiB have half the HBM stacks.
const std::vector<Soc>& SocTable() {
    static const auto* table = new std::vector<Soc>{
        {"Ascend910B1", 24, 1.85e9, 1.0, 192 * kMiB},    {"Ascend910B2", 24, 1.80e9, 1.0, 192 * kMiB},
        {"Ascend910B2C", 24, 1.80e9, 1.0, 192 * kMiB},   {"Ascend910B3", 20, 1.80e9, 1.0, 192 * kMiB},
        {"Ascend910B4", 20, 1.50e9, 0.5, 96 * kMiB},     {"Ascend910B4-1", 20, 1.50e9, 0.5, 168 * kMiB},
        {"Ascend910_9391", 24, 1.85e9, 1.0, 192 * kMiB}, {"Ascend910_9392", 24, 1.85e9, 1.0, 192 * kMiB},
        {"Ascend910_9381", 24, 1.80e9, 1.0, 192 * kMiB}, {"Ascend910_9382", 24, 1.80e9, 1.0, 192 * kMiB},
        {"Ascend910_9372", 20, 1.80e9, 1.0, 192 * kMiB}, {"Ascend910_9362", 20, 1.50e9, 0.5, 168 * kMiB}};
    return *table;
}

const Soc& FindSoc(const std::string& name) {
    std::string known;
    for (const Soc& soc : SocTable()) {
        if (name == soc.name) {
            return soc;
        }
        known += (known.empty() ? "" : ", ") + std::string(soc.name);
    }
    throw std::invalid_argument("unknown SoC '" + name + "', known: " + known);
}

}  // namespace ascend_attention::sim
