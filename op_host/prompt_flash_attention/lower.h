// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/lowering.h"
#include "plan/prepared.h"
#include "plan/problem.h"
#include "prompt_flash_attention/scene.h"

namespace ascend_attention::pfa {

BandArguments BandArgumentsOf(const Request& request);

// Shape and dtype of the result for every layout of the document; the scene has passed CheckDocument.
AttentionOutputs InferShapes(const Scene& scene);
// The canonical problem of a checked and supported request.
AttentionProblem Lower(const Scene& scene);

}  // namespace ascend_attention::pfa
