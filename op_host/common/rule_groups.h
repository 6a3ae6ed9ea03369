// SPDX-License-Identifier: Apache-2.0
// Which documented rules a request is held to: a table per operator, for texts about a request. The rules themselves
// are in the operators' check*.cpp, each with its number beside it.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "common/text.h"

namespace ascend_attention {

// Rules first ... last of a catalogue.
struct RuleSpan {
    int first;
    int last;
    constexpr RuleSpan(int one) : first(one), last(one) {}  // NOLINT: {1, {3, 5}} is how rules are written
    constexpr RuleSpan(int from, int to) : first(from), last(to) {}
};

template <class Scene>
struct RuleGroup {
    std::string rules;  // "FIA-C14 to C16, C18"
    std::string about;
    std::vector<int> numbers;  // of the rules FIA-C...
    bool (*applies)(const Scene& scene);

    RuleGroup(const char* catalogue, std::initializer_list<RuleSpan> spans, const char* the_about,
              bool (*the_applies)(const Scene&))
        : about(the_about), applies(the_applies) {
        for (const RuleSpan& span : spans) {
            rules += rules.empty() ? Concat(catalogue, "-C", span.first) : Concat(", C", span.first);
            if (span.last > span.first) {
                rules += Concat(" to C", span.last);
            }
            for (int number = span.first; number <= span.last; ++number) {
                numbers.push_back(number);
            }
        }
    }
};

// In the order of the catalogue. `applies` looks at sizes that the sections before have read.
template <class Scene>
using RuleGroups = std::vector<RuleGroup<Scene>>;

}  // namespace ascend_attention
