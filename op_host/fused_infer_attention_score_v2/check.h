// SPDX-License-Identifier: Apache-2.0
// The documented rules, one function per section of the constraint catalogue, in the order they are applied. Each
// returns the first rule that is broken.
#pragma once

#include "common/soc.h"
#include "fused_infer_attention_score_v2/scene.h"

namespace ascend_attention::fia_v2 {

// The product is one that the document lists.
Status CheckListed(const Soc& soc);

Status CheckRequired(Scene& scene);      // query, key, value given (161001)
Status CheckTypes(Scene& scene);         // FIA 1: dtypes, contiguity, layout, ranks, reserved arguments
Status CheckTensorLists(Scene& scene);   // FIA 2: key and value as lists; part of CheckTypes
Status CheckHeads(Scene& scene);         // FIA 2: reads the sizes
Status CheckPrecision(Scene& scene);     // FIA 1: what depends on Q_S
Status CheckPagedCache(Scene& scene);    // FIA 6: block_table and cache shapes; reads KV_S
Status CheckLengths(Scene& scene);       // FIA 3
Status CheckPagedLengths(Scene& scene);  // FIA 6: what depends on the lengths
Status CheckMask(Scene& scene);          // FIA 4
Status CheckPseShift(Scene& scene);      // FIA 5
Status CheckOutputQuant(Scene& scene);   // FIA 7
Status CheckAntiquant(Scene& scene);     // FIA 8, 9, 10
Status CheckRope(Scene& scene);          // FIA 11
Status CheckFullQuant(Scene& scene);     // FIA 11: int8 query
Status CheckTokenPacked(Scene& scene);   // FIA 12
Status CheckNzCache(Scene& scene);       // FIA 13
Status CheckSink(Scene& scene);          // FIA 14
// After all of these: what is legal and not built yet (561003).
Status CheckSupported(Scene& scene);
// Adds to the help of a refusal by CheckDocument what the rule that refused cannot know: whether the extended contract
// takes the request, and what else stands in its way.
void Advise(const Scene& scene, Status* status);

// FIA-C57: block_table has a column for each block of the longest sequence.
Status CheckTableColumns(const Scene& scene, LengthsView lengths);

// All documented rules; CheckSupported is separate so that an empty query can return before it.
Status CheckDocument(Scene& scene);

}  // namespace ascend_attention::fia_v2
