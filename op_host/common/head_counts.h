// SPDX-License-Identifier: Apache-2.0
// Words about head counts that do not fit, the same for every operator.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "common/layout.h"
#include "common/lengths.h"
#include "common/status.h"

namespace ascend_attention {

// How many query heads the caller gave: "8", or "none or 1", the default.
std::string QueryHeadsText(int64_t given);
// num_key_value_heads as the caller gave it: "2", or "none or 0 (= num_query_heads 8)".
std::string KeyHeadsText(int64_t given, const char* query_argument, int64_t query_heads);
// Help when `key_heads` does not divide `query_heads`: the second is missing, or the two numbers may be swapped.
std::string SwappedHeads(const char* query_argument, int64_t query_heads, int64_t key_heads);
// Help for a BSH width that does not fit: with one query head, all of H is its head_dim. "" when there are more.
std::string OneHeadOfH(const char* query_argument, AxisOrder order, int64_t query_heads);
// The number of key/value heads that fits H of keys, `width`, as help; "" when there is none or it is the one given.
std::string FittingKeyHeads(const char* query_argument, int64_t query_heads, int64_t given, int64_t head_dim,
                            int64_t width);
// Packed tokens (T, N, D) whose input_layout was forgotten: becomes the help of a refusal by one of `rules`, which are
// about sizes of BSH, when the middle axis has as many heads as there are or the lengths are totals up to the first
// axis.
void SuspectTnd(std::initializer_list<const char*> rules, AxisOrder order, const Shape& query, int64_t query_heads,
                const OptionalLengths& lengths, Status* status);
// Data of one layout under the name of another: `heads` stands in the other layout's N axis. "" when it does not.
std::string OtherOrder(AxisOrder tagged, const char* tensor, const Shape& shape, int64_t heads);

}  // namespace ascend_attention
