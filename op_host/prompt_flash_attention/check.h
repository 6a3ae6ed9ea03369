// SPDX-License-Identifier: Apache-2.0
// The documented rules, one function per section of the constraint catalogue, in the order they are applied. Each
// returns the first rule that is broken.
#pragma once

#include "common/rule_groups.h"
#include "prompt_flash_attention/scene.h"

namespace ascend_attention::pfa {

Status CheckRequired(Scene& scene);  // product; query, key, value given (161001); reserved arguments
Status CheckTypes(Scene& scene);     // PFA 1: dtypes, layout, ranks, contiguity
Status CheckHeads(Scene& scene);     // PFA 2: head counts, shapes, size limits; reads the sizes
Status CheckLengths(Scene& scene);   // PFA 3
Status CheckMask(Scene& scene);      // PFA 4, and what PFA 3 says about masks of TND
Status CheckPseShift(Scene& scene);  // PFA 5
Status CheckQuant(Scene& scene);     // PFA 6

// All documented rules.
Status CheckDocument(Scene& scene);
// After these: what is legal and not built yet (561003).
Status CheckSupported(const Scene& scene);
// Adds to the help of a refusal by CheckDocument whether the extended contract takes the request, and what it asks for
// that is not built yet.
void Advise(const Scene& scene, Status* status);

// Which of the rules concern a request, for texts about it.
const RuleGroups<Scene>& ScopesOfRules();

}  // namespace ascend_attention::pfa
