// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/check.h"

#include "common/tensor_rules.h"

namespace ascend_attention::fia_v2 {

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
    for (const Section section : kSections) {
        if (Status status = section(scene); !status.ok()) {
            return status;
        }
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
