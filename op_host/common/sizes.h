// SPDX-License-Identifier: Apache-2.0
// The sizes that every operator reads from the shapes of its tensors, under one set of names.
#pragma once

#include <cstdint>

#include "common/layout.h"

namespace ascend_attention {

struct CallSizes {
    const Layout* layout = nullptr;
    int64_t batch = 0;         // 0 for token-packed layouts: there the length lists say it
    int64_t tokens = 0;        // T of token-packed layouts
    int64_t query_length = 0;  // Q_S
    int64_t query_heads = 0;
    int64_t head_dim = 0;  // of query and key, without rope
    int64_t key_heads = 0;
    int64_t key_tokens = 0;  // T of token-packed, dense key and value
    int64_t key_length = 0;  // KV_S; paged: columns of block_table * block_size
    int64_t value_head_dim = 0;

    bool packed() const { return layout->token_packed(); }
};

}  // namespace ascend_attention
