// SPDX-License-Identifier: Apache-2.0
// What cores know of each other through cross-core flags.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "timing/replay.h"

namespace ascend_attention::sim {

// Runs the cross-core flags: each core in program order, a core that waits after the one that sets.
class FlagOrder {
public:
    explicit FlagOrder(const std::vector<ReplayCore>& cores);

    // visit(core, step) is called for every step, in an order that the flags allow, until it answers false.
    template <typename Visit>
    void Run(Visit visit) {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t core = 0; core < cores_.size(); ++core) {
                const std::vector<Step>& steps = cores_[core].stream->steps;
                std::uint32_t& next = states_[core].next;
                for (; next < steps.size() && Pass(core, steps[next]); ++next) {
                    moved = true;
                    if (!visit(core, next)) {
                        return;
                    }
                }
            }
        }
    }

    // Whether `core` knows, where it has come to, that step `step` of `other` is done.
    bool Knows(std::size_t core, std::size_t other, std::uint32_t step) const {
        return states_[core].known[other] > step;
    }

private:
    // Of each core, the step before which everything has been told.
    using Known = std::vector<std::uint32_t>;
    struct State {
        std::uint32_t next = 0;
        Known known;
        std::array<std::deque<Known>, kCrossFlags> raises;
        std::array<std::deque<Known>, kCrossFlags> given;
    };

    // False when the core has to wait.
    bool Pass(std::size_t core, const Step& step);
    void Set(std::size_t core, const Step& step);
    static void Join(Known& known, const Known& told);

    const std::vector<ReplayCore>& cores_;
    std::vector<State> states_;
};

}  // namespace ascend_attention::sim
