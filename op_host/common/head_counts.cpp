// SPDX-License-Identifier: Apache-2.0
#include "common/head_counts.h"

#include "common/text.h"

namespace ascend_attention {

std::string QueryHeadsText(int64_t given) { return given == 1 ? "none or 1" : std::to_string(given); }

std::string KeyHeadsText(int64_t given, const char* query_argument, int64_t query_heads) {
    return given != 0 ? std::to_string(given) : Concat("none or 0 (= ", query_argument, " ", query_heads, ")");
}

std::string SwappedHeads(const char* query_argument, int64_t query_heads, int64_t key_heads) {
    return key_heads % query_heads == 0 ? Concat("Each key/value head serves ", query_argument,
                                                 " / num_key_value_heads query heads: are the two numbers swapped?")
                                        : "";
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
