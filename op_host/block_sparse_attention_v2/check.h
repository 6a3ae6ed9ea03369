// SPDX-License-Identifier: Apache-2.0
// The documented rules, one function per step, in the order they are applied. Each returns the first rule that is
// broken.
#pragma once

#include "block_sparse_attention_v2/scene.h"
#include "common/rule_groups.h"
#include "plan/prepared.h"

namespace ascend_attention::bsa_v2 {

Status CheckFirstPhase(Scene& scene);  // BSA 1: what the C interface's first phase looks at before anything else
Status CheckModes(Scene& scene);       // BSA 2: arguments that allow one value, inner_precise by product
Status CheckShapes(Scene& scene);      // BSA 2: ranks, heads, head_dim; reads the sizes
Status CheckLengths(Scene& scene);     // BSA 2: the two lists; reads the longest lengths
Status CheckBlockMap(Scene& scene);    // BSA 2: block_shape and block_sparse_mask
Status CheckScales(Scene& scene);      // BSA 3

// All documented rules.
Status CheckDocument(Scene& scene);
// After these: what is legal and not built yet (561003).
Status CheckSupported(const Scene& scene);

// Shapes and dtypes of the results; the scene has passed CheckDocument.
AttentionOutputs InferShapes(const Scene& scene);

// Which of the rules concern a request, for texts about it.
const RuleGroups<Scene>& ScopesOfRules();

}  // namespace ascend_attention::bsa_v2
