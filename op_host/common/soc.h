// SPDX-License-Identifier: Apache-2.0
// The processors that a request may be meant for: one row per SoC of the vendor's platform files. We plan and run for
// Atlas A2 and A3 (architecture 2201); for the other products the operators' documents have rules that are checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace ascend_attention {

enum class Product : uint8_t { kAtlasA2A3, kInferenceCards, kAscend950 };

struct Soc {
    std::string name;
    int32_t aic_count = 0;  // AI cube cores, each with two vector cores; a mix kernel runs one block on each
    Product product = Product::kAtlasA2A3;
};

// Every SoC that kernels run on, in the vendor's order.
const std::vector<Soc>& KnownSocs();
// SoCs of other products: requests can be checked for them. They have no cores here.
const std::vector<Soc>& CheckedSocs();
// Looks `name` ("Ascend910B2") up in both; an unknown name is refused with those that were
// probably meant.
Status FindSoc(const std::string& name, Soc* soc);

// "Atlas A2 and A3", "Atlas inference accelerator cards (310P)", "Ascend 950".
const char* NameOf(Product product);
// "Ascend310P3, Atlas inference accelerator cards (310P)", for refusals.
std::string ProductText(const Soc& soc);
// 161002 under `rule` unless the operator's document lists the product of `soc`.
Status CheckProduct(const char* op, const char* rule, const Soc& soc, const std::vector<Product>& listed);
// 561003 where the document lists a product that there are no kernels for.
Status CheckKernelsExist(const char* op, const Soc& soc);

}  // namespace ascend_attention
