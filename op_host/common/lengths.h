// SPDX-License-Identifier: Apache-2.0
// Sequence lengths as lists of numbers, and the rules for them that operators share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.h"

namespace ascend_attention {

using Lengths = std::vector<int64_t>;
using OptionalLengths = std::optional<Lengths>;

// A list that is absent or empty gives no lengths.
inline bool HasLengths(const OptionalLengths& lengths) { return lengths.has_value() && !lengths->empty(); }
// One length per batch: the list's single entry for all, else its first `batch` entries; `whole` without a list.
Lengths LengthsPerBatch(const OptionalLengths& lengths, int64_t batch, int64_t whole);
// From where each sequence ends to how long it is.
Lengths Differences(const Lengths& ends);

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
