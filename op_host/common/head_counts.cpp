// SPDX-License-Identifier: Apache-2.0
#include "common/head_counts.h"

#include <algorithm>

#include "common/text.h"

namespace ascend_attention {

std::string QueryHeadsText(int64_t given) { return given == 1 ? "none or 1" : std::to_string(given); }

std::string KeyHeadsText(int64_t given, const char* query_argument, int64_t query_heads) {
    return given != 0 ? std::to_string(given) : Concat("none or 0 (= ", query_argument, " ", query_heads, ")");
}

std::string SwappedHeads(const char* query_argument, int64_t query_heads, int64_t key_heads) {
    if (query_heads == 1) {
        return Concat(query_argument, " is none or 1: is it missing?");
    }
    return key_heads % query_heads == 0 ? Concat("Each key/value head serves ", query_argument,
                                                 " / num_key_value_heads query heads: are the two numbers swapped?")
                                        : "";
}

std::string OneHeadOfH(const char* query_argument, AxisOrder order, int64_t query_heads) {
    return order == AxisOrder::kBSH && query_heads == 1
               ? Concat("head_dim is H / ", query_argument, ", and ", query_argument, " is none or 1.")
               : "";
}

std::string FittingKeyHeads(const char* query_argument, int64_t query_heads, int64_t given, int64_t head_dim,
                            int64_t width) {
    const int64_t heads = head_dim > 0 && width % head_dim == 0 ? width / head_dim : 0;
    if (heads < 1 || heads == (given == 0 ? query_heads : given) || query_heads % heads != 0) {
        return "";
    }
    return Concat("num_key_value_heads is ", KeyHeadsText(given, query_argument, query_heads), "; ", heads,
                  " would fit this shape.");
}

void SuspectTnd(std::initializer_list<const char*> rules, AxisOrder order, const Shape& query, int64_t query_heads,
                const OptionalLengths& lengths, Status* status) {
    if (std::find(rules.begin(), rules.end(), status->rule) == rules.end() || order != AxisOrder::kBSH) {
        return;
    }
    const bool totals = HasLengths(lengths) && lengths->size() > 1 && lengths->back() == query[0] &&
                        std::is_sorted(lengths->begin(), lengths->end());
    if (totals || (query_heads > 1 && query[1] == query_heads)) {
        status->help = "input_layout is none or BSH: are these packed tokens, (T, N, D)? They need TND.";
    }
}

std::string OtherOrder(AxisOrder tagged, const char* tensor, const Shape& shape, int64_t heads) {
    struct Row {
        AxisOrder tagged;
        size_t axis;
        const char* likely;
    };
    constexpr Row kRows[] = {{AxisOrder::kBNSD, 2, "BSND"},
                             {AxisOrder::kBSND, 1, "BNSD"},
                             {AxisOrder::kTND, 0, "NTD_TND"},
                             {AxisOrder::kNTD, 1, "TND"}};
    for (const Row& row : kRows) {
        if (row.tagged == tagged && shape[row.axis] == heads) {
            return Concat("Axis ", row.axis, " of ", tensor, " has ", heads, ": is the data in ", row.likely,
                          " order?");
        }
    }
    return "";
}

}  // namespace ascend_attention
