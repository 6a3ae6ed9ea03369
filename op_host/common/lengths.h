// SPDX-License-Identifier: Apache-2.0
// Sequence lengths as lists of numbers, and the rules for them that operators share.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/span.h"
#include "common/status.h"

namespace ascend_attention {

using Lengths = std::vector<int64_t>;
using OptionalLengths = std::optional<Lengths>;

// A list that is absent or empty gives no lengths.
inline bool HasLengths(const OptionalLengths& lengths) { return lengths.has_value() && !lengths->empty(); }
// Of a list that gives none, for refusals.
inline const char* NoLengths(const OptionalLengths& lengths) {
    return lengths.has_value() ? "an empty list, which is none" : "none";
}

using LengthsView = Span<const int64_t>;

// A length for each sequence: those of the caller's own list, which is not copied, or made from it.
class SequenceLengths {
public:
    SequenceLengths() = default;
    explicit SequenceLengths(LengthsView given) : view_(given) {}
    explicit SequenceLengths(Lengths made) : made_(std::move(made)), view_(made_) {}
    SequenceLengths(SequenceLengths&&) = default;  // a vector that moves takes its elements along
    SequenceLengths& operator=(SequenceLengths&&) = default;

    operator LengthsView() const { return view_; }  // NOLINT: it is one
    const int64_t* data() const { return view_.data(); }
    size_t size() const { return view_.size(); }
    const int64_t* begin() const { return view_.begin(); }
    const int64_t* end() const { return view_.end(); }
    int64_t operator[](size_t i) const { return view_[i]; }

private:
    Lengths made_;
    LengthsView view_{nullptr, 0};
};

// One length per batch: the list's single entry for all, else its first `batch` entries; `whole` without a list.
SequenceLengths LengthsPerBatch(const OptionalLengths& lengths, int64_t batch, int64_t whole);
// From where each sequence ends to how long it is.
SequenceLengths Differences(const Lengths& ends);
// Whether all are from 0 to `most`.
bool AllWithin(LengthsView lengths, int64_t most);

struct LengthRules {
    const char* op;
    const char* argument;
    const char* count_rule;
    const char* range_rule;
    const char* axis;  // "Q_S"
};
// One entry, or at least one per batch, each from 0 to `whole`.
Status CheckLengthList(const LengthRules& rules, const OptionalLengths& lengths, int64_t batch, int64_t whole);

struct CumulativeRules {
    const char* op;
    const char* argument;
    const char* order_rule;
    const char* end_rule;
};
// Ends of sequences: never decreasing from 0, the last one `tokens`.
Status CheckCumulative(const CumulativeRules& rules, const Lengths& ends, int64_t tokens);

}  // namespace ascend_attention
