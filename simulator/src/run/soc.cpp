// SPDX-License-Identifier: Apache-2.0
#include "run/soc.h"

#include <stdexcept>

namespace ascend_attention::sim {

const std::vector<Soc>& SocTable() {
    static const auto* table = new std::vector<Soc>{
        {"Ascend910B1", 24},    {"Ascend910B2", 24},    {"Ascend910B2C", 24},   {"Ascend910B3", 20},
        {"Ascend910B4", 20},    {"Ascend910B4-1", 20},  {"Ascend910_9391", 24}, {"Ascend910_9392", 24},
        {"Ascend910_9381", 24}, {"Ascend910_9382", 24}, {"Ascend910_9372", 20}, {"Ascend910_9362", 20}};
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
