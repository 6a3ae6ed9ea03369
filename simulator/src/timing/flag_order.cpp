// SPDX-License-Identifier: Apache-2.0
#include "timing/flag_order.h"

#include <algorithm>

namespace ascend_attention::sim {

FlagOrder::FlagOrder(const std::vector<ReplayCore>& cores) : cores_(cores), states_(cores.size()) {
    for (State& state : states_) {
        state.known.assign(cores.size(), 0);
    }
}

void FlagOrder::Join(Known& known, const Known& told) {
    for (std::size_t i = 0; i < known.size(); ++i) {
        known[i] = std::max(known[i], told[i]);
    }
}

bool FlagOrder::Pass(std::size_t core, const Step& step) {
    State& state = states_[core];
    if (step.kind == StepKind::kCrossSet) {
        Set(core, step);
    } else if (step.kind == StepKind::kCrossWait) {
        if (state.raises[step.id].empty()) {
            return false;
        }
        Join(state.known, state.raises[step.id].front());
        state.raises[step.id].pop_front();
    }
    return true;
}

void FlagOrder::Set(std::size_t core, const Step& step) {
    Known joined = states_[core].known;
    joined[core] = states_[core].next;
    const bool cube = cores_[core].cube;
    const auto reaches = [&](std::size_t other, bool type) {
        return cores_[other].cube == type && (step.target == 0 || cores_[other].block == cores_[core].block);
    };
    const bool alone = step.target == 2 && cube;
    if (!alone) {
        states_[core].given[step.id].push_back(joined);
        for (std::size_t other = 0; other < cores_.size(); ++other) {
            if (reaches(other, cube) && states_[other].given[step.id].empty()) {
                return;
            }
        }
        for (std::size_t other = 0; other < cores_.size(); ++other) {
            if (reaches(other, cube)) {
                Join(joined, states_[other].given[step.id].front());
                states_[other].given[step.id].pop_front();
            }
        }
    }
    for (std::size_t other = 0; other < cores_.size(); ++other) {
        if (reaches(other, step.target == 2 ? !cube : cube)) {
            states_[other].raises[step.id].push_back(joined);
        }
    }
}

}  // namespace ascend_attention::sim
