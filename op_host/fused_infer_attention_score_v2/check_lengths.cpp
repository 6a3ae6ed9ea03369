// SPDX-License-Identifier: Apache-2.0
// FIA 3: actual_seq_qlen and actual_seq_kvlen of layouts with a batch axis.
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

struct LengthRules {
    const char* argument;
    const char* count_rule;
    const char* range_rule;
    const char* axis;
};

// Do the differences of the list fit where the list itself does not?
bool LooksCumulative(const std::vector<int64_t>& lengths, int64_t used, int64_t whole) {
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

Status CheckLengthList(const LengthRules& rules, const OptionalLengths& lengths, int64_t batch, int64_t whole) {
    if (!HasLengths(lengths)) {  // FIA-C40: an empty list is no list
        return OkStatus();
    }
    const int64_t count = int64_t(lengths->size());
    if (count != 1 && count < batch) {
        return Refuse(rules.count_rule, rules.argument, Concat(count, " entries"),
                      Concat("1 entry, or at least one per batch (", batch, ")"),
                      Concat("Axis 0 of query says that the batch is ", batch, "."));
    }
    const int64_t used = count == 1 ? 1 : batch;
    for (int64_t i = 0; i < used; ++i) {
        const int64_t length = (*lengths)[size_t(i)];
        if (length < 0 || length > whole) {
            return Refuse(rules.range_rule, rules.argument, Concat("entry ", i, " = ", length),
                          Concat("0 to ", rules.axis, " (", whole, ")"),
                          LooksCumulative(*lengths, used, whole)
                              ? "These look like running totals: here each entry is the length of one sequence."
                              : "");
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckLengths(Scene& scene) {
    if (scene.packed()) {
        return OkStatus();  // FIA 12
    }
    if (!scene.single_row()) {  // with one query row the list is ignored
        const LengthRules query_rules = {"actual_seq_qlen", "FIA-C36", "FIA-C37", "Q_S"};
        Status status = CheckLengthList(query_rules, scene.request.actual_seq_qlen, scene.batch, scene.query_length);
        if (!status.ok()) {
            return status;
        }
    }
    const LengthRules key_rules = {"actual_seq_kvlen", "FIA-C38", "FIA-C39", "KV_S"};
    return CheckLengthList(key_rules, scene.request.actual_seq_kvlen, scene.batch, scene.key_length);
}

}  // namespace ascend_attention::fia_v2
