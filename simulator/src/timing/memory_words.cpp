// SPDX-License-Identifier: Apache-2.0
#include "timing/memory_words.h"

#include <algorithm>
#include <array>
#include <deque>

namespace ascend_attention::sim {

namespace {

constexpr std::size_t kFlags = 16;

struct Touch {
    WordAccess word;
    std::size_t core = 0;
};

// Pairs that conflict. Few kernels have any, so that nothing else has to be fast.
struct Conflict {
    Touch first;
    Touch second;
};

std::vector<Conflict> FindConflicts(const std::vector<ReplayCore>& cores) {
    std::vector<Touch> touches;
    for (std::size_t core = 0; core < cores.size(); ++core) {
        for (const WordAccess& word : cores[core].stream->words) {
            touches.push_back(Touch{word, core});
        }
    }
    std::stable_sort(touches.begin(), touches.end(),
                     [](const Touch& a, const Touch& b) { return a.word.address < b.word.address; });
    constexpr std::uint64_t kWidest = 8;
    constexpr std::size_t kMost = 4096;
    std::vector<Conflict> conflicts;
    for (std::size_t i = 0; i < touches.size(); ++i) {
        for (std::size_t j = i + 1; j < touches.size() && touches[j].word.address < touches[i].word.address + kWidest;
             ++j) {
            const bool overlap = touches[j].word.address < touches[i].word.address + touches[i].word.bytes;
            const bool writes = touches[i].word.write || touches[j].word.write;
            if (overlap && writes && touches[i].core != touches[j].core && conflicts.size() < kMost) {
                conflicts.push_back(Conflict{touches[i], touches[j]});
            }
        }
    }
    return conflicts;
}

// What a core knows of the others: of each, the step before which everything has been told.
using Known = std::vector<std::uint32_t>;

void Join(Known& known, const Known& told) {
    for (std::size_t i = 0; i < known.size(); ++i) {
        known[i] = std::max(known[i], told[i]);
    }
}

// Runs the cross-core flags in program order and keeps what each core knew at each of its waits.
class FlagOrder {
public:
    FlagOrder(const std::vector<ReplayCore>& cores, const std::vector<Conflict>& conflicts)
        : cores_(cores), states_(cores.size()) {
        for (const Conflict& conflict : conflicts) {
            states_[conflict.first.core].asked = true;
            states_[conflict.second.core].asked = true;
        }
        for (State& state : states_) {
            state.known.assign(cores.size(), 0);
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t core = 0; core < cores.size(); ++core) {
                moved = Advance(core) || moved;
            }
        }
    }

    bool Orders(const Touch& first, const Touch& second) const {
        return KnownAt(second.core, second.word.step)[first.core] > first.word.step ||
               KnownAt(first.core, first.word.step)[second.core] > second.word.step;
    }

private:
    struct Learnt {
        std::uint32_t step;
        Known known;
    };
    struct State {
        std::uint32_t next = 0;
        bool asked = false;  // somebody will want to know what it knew when
        Known known;
        std::vector<Learnt> learnt;
        std::array<std::deque<Known>, kFlags> raises;
        std::array<std::deque<Known>, kFlags> given;
    };

    Known KnownAt(std::size_t core, std::uint32_t step) const {
        Known known(cores_.size(), 0);
        for (const Learnt& learnt : states_[core].learnt) {
            if (learnt.step < step) {
                known = learnt.known;
            }
        }
        return known;
    }

    bool Advance(std::size_t core) {
        State& state = states_[core];
        const std::vector<Step>& steps = cores_[core].stream->steps;
        const std::uint32_t before = state.next;
        for (; state.next < steps.size(); ++state.next) {
            const Step& step = steps[state.next];
            if (step.kind == StepKind::kCrossSet) {
                Known told = state.known;
                told[core] = state.next;
                Set(core, step, told);
            } else if (step.kind == StepKind::kCrossWait) {
                if (state.raises[step.id].empty()) {
                    break;
                }
                Join(state.known, state.raises[step.id].front());
                state.raises[step.id].pop_front();
                if (state.asked) {
                    state.learnt.push_back(Learnt{state.next, state.known});
                }
            }
        }
        return state.next != before;
    }

    void Set(std::size_t core, const Step& step, const Known& told) {
        const bool alone = step.target == 2 && cores_[core].cube;
        const auto reaches = [&](std::size_t other, bool cube) {
            return cores_[other].cube == cube && (step.target == 0 || cores_[other].block == cores_[core].block);
        };
        Known joined = told;
        if (!alone) {
            states_[core].given[step.id].push_back(told);
            for (std::size_t other = 0; other < cores_.size(); ++other) {
                if (reaches(other, cores_[core].cube) && states_[other].given[step.id].empty()) {
                    return;
                }
            }
            for (std::size_t other = 0; other < cores_.size(); ++other) {
                if (reaches(other, cores_[core].cube)) {
                    Join(joined, states_[other].given[step.id].front());
                    states_[other].given[step.id].pop_front();
                }
            }
        }
        for (std::size_t other = 0; other < cores_.size(); ++other) {
            if (reaches(other, step.target == 2 ? !cores_[core].cube : cores_[core].cube)) {
                states_[other].raises[step.id].push_back(joined);
            }
        }
    }

    const std::vector<ReplayCore>& cores_;
    std::vector<State> states_;
};

Site SiteOf(const ReplayCore& core, const WordAccess& word) {
    return core.stream->sites[core.stream->steps[word.step].site];
}

}  // namespace

UnorderedWords FindUnorderedWords(const std::vector<ReplayCore>& cores) {
    UnorderedWords result;
    const std::vector<Conflict> conflicts = FindConflicts(cores);
    if (conflicts.empty()) {
        return result;
    }
    const FlagOrder order(cores, conflicts);
    for (const Conflict& conflict : conflicts) {
        if (order.Orders(conflict.first, conflict.second)) {
            continue;
        }
        const bool swapped = conflict.first.word.write && !conflict.second.word.write;
        const Touch& reader = swapped ? conflict.second : conflict.first;
        const Touch& writer = swapped ? conflict.first : conflict.second;
        result.found = true;
        result.core = static_cast<int>(reader.core);
        result.site = SiteOf(cores[reader.core], reader.word);
        result.other = static_cast<int>(writer.core);
        result.other_site = SiteOf(cores[writer.core], writer.word);
        return result;
    }
    return result;
}

}  // namespace ascend_attention::sim
