// SPDX-License-Identifier: Apache-2.0
// Words about head counts that do not fit, the same for every operator.
#pragma once

#include <cstdint>
#include <string>

#include "common/layout.h"

namespace ascend_attention {

// num_key_value_heads as the caller gave it: "2", or "none or 0 (= num_query_heads 8)".
// How many query heads the caller gave; 1 is the default.
std::string QueryHeadsText(int64_t given);
std::string KeyHeadsText(int64_t given, const char* query_argument, int64_t query_heads);
// Help when `key_heads` does not divide `query_heads`: the two numbers may be swapped.
std::string SwappedHeads(const char* query_argument, int64_t query_heads, int64_t key_heads);
// Data of one layout under the name of another: `heads` stands in the other layout's N axis. "" when it does not.
std::string OtherOrder(AxisOrder tagged, const char* tensor, const Shape& shape, int64_t heads);

}  // namespace ascend_attention
