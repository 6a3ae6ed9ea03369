// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {

Status CheckRequired(Scene& scene) {
    struct Row {
        const char* name;
        const OptionalTensor* tensor;
    };
    const Request& request = scene.request;
    const Row rows[] = {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}};
    for (const Row& row : rows) {
        if (!row.tensor->has_value()) {
            Status status = Refuse("FIA-A2", row.name, "None", "a tensor", "query, key and value are required.");
            status.code = StatusCode::kNullPointer;
            return status;
        }
    }
    return OkStatus();
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
