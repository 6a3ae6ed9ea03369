// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api.h"
#include "fused_infer_attention_score_v2/scene.h"

namespace ascend_attention::fia_v2 {

// Shapes and dtypes of the results for every layout of the document; the scene has passed CheckDocument.
AttentionOutputs InferShapes(const Scene& scene);

}  // namespace ascend_attention::fia_v2
