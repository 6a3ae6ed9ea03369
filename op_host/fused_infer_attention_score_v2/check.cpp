// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/check.h"

#include "common/head_counts.h"
#include "common/tensor_rules.h"

namespace ascend_attention::fia_v2 {
namespace {

void SuspectLayout(const Scene& scene, Status* status) {
    const Request& request = scene.request;
    if (scene.layout != nullptr) {
        SuspectTnd({"FIA-C20", "FIA-C21", "FIA-C22", "FIA-C23", "FIA-C24", "FIA-C36", "FIA-C37", "FIA-C38", "FIA-C39",
                    "FIA-C57"},
                   scene.layout->input, request.query->shape, request.num_query_heads, request.actual_seq_qlen, status);
    }
}

}  // namespace

Status CheckListed(const Soc& soc) {
    return CheckProduct(kFusedInferAttentionScoreV2, "FIA-A1", soc, {Product::kAtlasA2A3});
}

Status CheckRequired(Scene& scene) {
    const Request& request = scene.request;
    return CheckGiven(kFusedInferAttentionScoreV2, "FIA-A2",
                      {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}});
}

Status CheckDocument(Scene& scene) {
    using Section = Status (*)(Scene&);
    constexpr Section kSections[] = {
        CheckRequired,  CheckTypes,        CheckHeads,    CheckPrecision,   CheckPagedCache, CheckLengths,
        CheckMask,      CheckPagedLengths, CheckPseShift, CheckOutputQuant, CheckAntiquant,  CheckRope,
        CheckFullQuant, CheckTokenPacked,  CheckNzCache,  CheckSink,
    };
    Status status = FirstRefusal(kSections, scene);
    if (!status.ok()) {
        SuspectLayout(scene, &status);
    }
    return status;
}

}  // namespace ascend_attention::fia_v2
