// SPDX-License-Identifier: Apache-2.0
#include "common/soc.h"

#include "common/text.h"

namespace ascend_attention {

const std::vector<Soc>& KnownSocs() {
    static const std::vector<Soc> socs = {
        {"Ascend910B1", 24},    {"Ascend910B2", 24},    {"Ascend910B2C", 24},   {"Ascend910B3", 20},
        {"Ascend910B4", 20},    {"Ascend910B4-1", 20},  {"Ascend910_9362", 20}, {"Ascend910_9372", 20},
        {"Ascend910_9381", 24}, {"Ascend910_9382", 24}, {"Ascend910_9391", 24}, {"Ascend910_9392", 24},
    };
    return socs;
}

Status FindSoc(const std::string& name, Soc* soc) {
    std::string known;
    for (const Soc& candidate : KnownSocs()) {
        if (candidate.name == name) {
            *soc = candidate;
            return OkStatus();
        }
        known += (known.empty() ? "" : ", ") + candidate.name;
    }
    Status status;
    status.code = StatusCode::kInvalidParameter;
    status.op = "ascend_attention";
    status.argument = "soc";
    status.rule = "SOC";
    status.given = Quoted(name);
    status.allowed = known;
    status.help = "Plain Ascend910A and Ascend910B are an earlier generation that these kernels do not run on.";
    return status;
}

}  // namespace ascend_attention
