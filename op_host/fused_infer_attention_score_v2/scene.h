// SPDX-License-Identifier: Apache-2.0
// A request while it is being checked: which features it uses and the sizes read from its shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/contract.h"
#include "common/lengths.h"
#include "common/mask_rules.h"
#include "common/output_quant.h"
#include "common/sizes.h"
#include "common/status.h"
#include "common/text.h"
#include "fused_infer_attention_score_v2/request.h"

namespace ascend_attention::fia_v2 {

using Request = FusedInferAttentionScoreV2Request;

constexpr int64_t kRopeDim = 64;  // of query_rope and key_rope
constexpr int64_t kNzLane = 16;   // 16-bit values in the 32 bytes of an NZ row

// How paged keys lie. kDense: no block_table.
enum class Cache : uint8_t { kDense, kBBH, kBNBD, kNZ };

struct Scene : CallSizes {
    Scene(const Request& the_request, Contract the_contract);

private:
    std::unique_ptr<Request> padded_;  // with lists of tensors: the request with single ones in their place

public:
    const Request& request;
    Contract contract;

    // As the sizes, valid once the sections that read them have passed.
    Cache cache = Cache::kDense;
    Lengths list_lengths;  // of the entries of key, when it is a list

    // Gives key and value, as the other rules see them, the shape that their lists mean.
    void SetPaddedShape(const Shape& shape);

    bool extended() const { return contract == Contract::kExtended; }
    bool paged() const { return request.block_table.has_value(); }
    bool lists() const { return request.key_list.has_value(); }
    bool rope() const { return request.query_rope.has_value() || request.key_rope.has_value(); }
    bool int8_query() const { return request.query->dtype == DType::kInt8; }
    bool int4_keys() const { return request.key->dtype == DType::kInt32; }
    bool quantised_keys() const { return request.key->dtype == DType::kInt8 || int4_keys(); }
    bool has_key_scale() const {
        return request.dequant_scale_key.has_value() || request.dequant_scale_value.has_value();
    }
    bool has_key_offset() const {
        return request.dequant_offset_key.has_value() || request.dequant_offset_value.has_value();
    }
    bool antiquant() const { return has_key_scale() && !int8_query(); }
    bool empty_query() const { return NumElements(request.query->shape) == 0; }
    bool empty_keys() const { return NumElements(request.key->shape) == 0; }
    bool single_row() const { return !packed() && query_length == 1; }
    bool wide_rope() const { return rope() && head_dim == 512; }
    // The document's "Q_S = 1" rules also cover MLA and token-packed calls with head_dim 512.
    bool decode_rules() const { return single_row() || wide_rope() || (packed() && head_dim == 512); }
    bool prefill_rules() const { return !decode_rules(); }
};

// 161002 with the rule's id.
Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help = "");

// num_key_value_heads as the caller gave it: "2", or "none or 0 (= num_query_heads 8)".
std::string KeyHeadsText(const Scene& scene);
// For a cache or key whose last axis holds all heads: what num_key_value_heads it would fit, or "".
std::string FittingKeyHeads(const Scene& scene, int64_t width);
// num_query_heads and num_key_value_heads together: "8 query heads over 2".
std::string HeadsText(const Scene& scene);

MaskArguments MaskOf(const Scene& scene);
OutputQuantArguments OutputQuantOf(const Scene& scene);
// Of each sequence, token-packed or not; after the sections that check them.
SequenceLengths QueryLengths(const Scene& scene);  // ignores the list when Q_S is 1, as the document says
SequenceLengths KeyLengths(const Scene& scene);

}  // namespace ascend_attention::fia_v2
