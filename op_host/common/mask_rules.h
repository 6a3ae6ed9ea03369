// SPDX-License-Identifier: Apache-2.0
// atten_mask, sparse_mode, pre_tokens and next_tokens: rules that operators share, each under the operator's own id.
#pragma once

#include <cstdint>

#include "common/lengths.h"
#include "common/status.h"
#include "common/tensor.h"

namespace ascend_attention {

// What the rules look at.
struct MaskArguments {
    const char* op;
    const OptionalTensor& mask;
    int64_t sparse_mode;
    int64_t pre_tokens;
    int64_t next_tokens;
    int64_t batch;
    int64_t query_length;
    int64_t key_length;
    bool packed;  // a token-packed layout: no mask of (Q_S, KV_S) would do
};

// (2048, 2048), (1, 2048, 2048) or (1, 1, 2048, 2048).
bool IsCompressedMask(const Shape& shape);

// bool, int8 or uint8, if given.
Status CheckMaskDType(const MaskArguments& arguments, const char* rule);
// Given, in one of the compressed shapes.
Status CheckCompressedMask(const MaskArguments& arguments, const char* rule);
// How to make that mask, as help.
std::string CompressedMaskHelp();
// (Q_S, KV_S), (1 or B, Q_S, KV_S) or (1 or B, 1, Q_S, KV_S); the last two may be larger.
Status CheckFullMask(const MaskArguments& arguments, const char* rule);
// Given with sparse_mode 1.
Status CheckAllMask(const MaskArguments& arguments, const char* rule);

struct TokenRules {
    const char* both_negative;
    const char* width;         // pre_tokens + next_tokens >= 0
    const char* top_left;      // sparse_mode 0: tokens are counted from the left-top corner
    const char* bottom_right;  // sparse_mode 4
};
// For sparse_mode 0 with a mask and 4, where the token counts mean something.
Status CheckTokens(const MaskArguments& arguments, const TokenRules& rules, LengthsView query_lengths,
                   LengthsView key_lengths);
// Refuses requests in which some row sees no key. Such a row is zero, which an `offset` would not quantise to itself.
Status CheckEmptyRows(const MaskArguments& arguments, const char* rule, const char* offset, LengthsView query_lengths,
                      LengthsView key_lengths);

}  // namespace ascend_attention
