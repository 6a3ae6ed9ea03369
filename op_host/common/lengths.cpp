// SPDX-License-Identifier: Apache-2.0
#include "common/lengths.h"

#include "common/text.h"

namespace ascend_attention {
namespace {

// Do the differences of the list fit where the list itself does not?
bool LooksCumulative(const Lengths& lengths, int64_t used, int64_t whole) {
    int64_t previous = 0;
    for (int64_t i = 0; i < used; ++i) {
        const int64_t end = lengths[size_t(i)];
        if (end < previous || end - previous > whole) {
            return false;
        }
        previous = end;
    }
    return used > 1;
}

// For lengths of single sequences where running totals are wanted: they add up to T.
std::string TotalsHelp(const Lengths& lengths, int64_t tokens) {
    constexpr size_t kShown = 4;
    std::string totals;
    int64_t total = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] < 0 || __builtin_add_overflow(total, lengths[i], &total) || total > tokens) {
            return "";
        }
        totals += i < kShown ? Concat(i == 0 ? "" : ", ", total) : i == kShown ? ", ..." : "";
    }
    return total == tokens && lengths.size() > 1
               ? Concat("These look like the lengths of single sequences; as running totals they are [", totals, "].")
               : "";
}

}  // namespace

SequenceLengths LengthsPerBatch(const OptionalLengths& lengths, int64_t batch, int64_t whole) {
    if (HasLengths(lengths) && lengths->size() > 1) {
        return SequenceLengths(LengthsView(lengths->data(), size_t(batch)));
    }
    return SequenceLengths(Lengths(size_t(batch), HasLengths(lengths) ? lengths->front() : whole));
}

SequenceLengths Differences(const Lengths& ends) {
    Lengths lengths(ends);
    for (size_t i = ends.size(); i-- > 1;) {
        lengths[i] -= lengths[i - 1];
    }
    return SequenceLengths(std::move(lengths));
}

// A length turns the sign of one of the two when it is not: no branch for each, so that compilers take several at once.
bool AllWithin(LengthsView lengths, int64_t most) {
    uint64_t signs = uint64_t(most);
    for (const int64_t length : lengths) {
        signs |= uint64_t(length) | (uint64_t(most) - uint64_t(length));
    }
    return int64_t(signs) >= 0;
}

Status CheckLengthList(const LengthRules& rules, const OptionalLengths& lengths, int64_t batch, int64_t whole) {
    if (!HasLengths(lengths)) {  // an empty list is no list
        return OkStatus();
    }
    const int64_t count = int64_t(lengths->size());
    if (count != 1 && count < batch) {
        return Refusal(rules.op, rules.count_rule, rules.argument, Concat(count, " entries"),
                       Concat("1 entry, or at least one per batch (", batch, ")"),
                       Concat("Axis 0 of query says that the batch is ", batch, "."));
    }
    const int64_t used = count == 1 ? 1 : batch;
    if (AllWithin({lengths->data(), size_t(used)}, whole)) {
        return OkStatus();
    }
    for (int64_t i = 0; i < used; ++i) {
        const int64_t length = (*lengths)[size_t(i)];
        if (length < 0 || length > whole) {
            return Refusal(rules.op, rules.range_rule, rules.argument, Concat("entry ", i, " = ", length),
                           Concat("0 to ", rules.axis, " (", whole, ")"),
                           LooksCumulative(*lengths, used, whole)
                               ? "Are these running totals? Here each entry is the length of one sequence."
                               : "");
        }
    }
    return OkStatus();
}

Status CheckCumulative(const CumulativeRules& rules, const Lengths& ends, int64_t tokens) {
    int64_t previous = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
        if (ends[i] < previous) {
            return Refusal(rules.op, rules.order_rule, rules.argument,
                           Concat("entry ", i, " = ", ends[i], " after ", previous),
                           "cumulative lengths that never decrease, from 0", TotalsHelp(ends, tokens));
        }
        previous = ends[i];
    }
    if (previous != tokens) {
        return Refusal(rules.op, rules.end_rule, rules.argument, Concat("last entry ", previous),
                       Concat("T (", tokens, ")"), TotalsHelp(ends, tokens));
    }
    return OkStatus();
}

}  // namespace ascend_attention
