// SPDX-License-Identifier: Apache-2.0
// A request while it is being checked: the product it is meant for and the sizes read from its shapes.
#pragma once

#include <cstdint>
#include <string>

#include "block_sparse_attention_v2/request.h"
#include "common/layout.h"
#include "common/lengths.h"
#include "common/soc.h"
#include "common/status.h"
#include "common/text.h"

namespace ascend_attention::bsa_v2 {

using Request = BlockSparseAttentionV2Request;

struct Scene {
    Scene(const Request& the_request, const Soc& the_soc) : request(the_request), soc(the_soc) {}

    const Request& request;
    const Soc& soc;
    const Layout* layout = nullptr;

    // Sizes; valid once the sections that read them have passed.
    int64_t batch = 0;
    int64_t query_heads = 0;
    int64_t key_heads = 0;
    int64_t head_dim = 0;
    int64_t query_length = 0;  // S of the shape, or T of TND
    int64_t key_length = 0;
    int64_t query_longest = 0;  // what the map covers: S of the shape, or the longest sequence of TND
    int64_t key_longest = 0;
    int64_t block_x = 128;
    int64_t block_y = 128;

    bool ascend950() const { return soc.product == Product::kAscend950; }
    bool packed() const { return layout->token_packed(); }
    bool fp8() const { return request.query->dtype == DType::kFloat8E4M3FN; }
    bool empty_query() const { return NumElements(request.query->shape) == 0; }
    bool empty_keys() const { return NumElements(request.key->shape) == 0; }
};

// 161002 with the rule's id.
Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help = "");

}  // namespace ascend_attention::bsa_v2
