// SPDX-License-Identifier: Apache-2.0
// A request while it is being checked: the product it is meant for and the sizes read from its shapes.
#pragma once

#include <cstdint>
#include <string>

#include "common/contract.h"
#include "common/lengths.h"
#include "common/mask_rules.h"
#include "common/output_quant.h"
#include "common/sizes.h"
#include "common/soc.h"
#include "common/status.h"
#include "common/text.h"
#include "prompt_flash_attention/request.h"

namespace ascend_attention::pfa {

using Request = PromptFlashAttentionRequest;

// query_length and key_length are T of TND, too: its rules are those of S.
struct Scene : CallSizes {
    Scene(const Request& the_request, const Soc& the_soc, Contract the_contract)
        : request(the_request), soc(the_soc), contract(the_contract) {}

    const Request& request;
    const Soc& soc;
    Contract contract;

    bool cards() const { return soc.product == Product::kInferenceCards; }
    bool extended() const { return contract == Contract::kExtended; }
    bool int8_query() const { return request.query->dtype == DType::kInt8; }
    bool empty_query() const { return NumElements(request.query->shape) == 0; }
    bool empty_keys() const { return NumElements(request.key->shape) == 0; }
};

// 161002 with the rule's id.
Status Refuse(const char* rule, const std::string& argument, const std::string& given, const std::string& allowed,
              const std::string& help = "");

MaskArguments MaskOf(const Scene& scene);
OutputQuantArguments OutputQuantOf(const Scene& scene);

// One length per batch, TND included; after the sections that check them.
SequenceLengths QueryLengths(const Scene& scene);
SequenceLengths KeyLengths(const Scene& scene);

}  // namespace ascend_attention::pfa
