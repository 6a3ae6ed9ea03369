// SPDX-License-Identifier: Apache-2.0
// The one list of what the document allows and the engine does not do yet.
#include "common/unsupported.h"
#include "prompt_flash_attention/check.h"

namespace ascend_attention::pfa {
namespace {

const Unsupported<Scene> kUnsupported[] = {
    {"query", "float16, bfloat16", [](const Scene& s) { return s.int8_query(); },
     [](const Scene& s) { return DTypeText(*s.request.query); }},
    {"quant_scale2", "no quant_scale2: a result in the dtype of query",
     [](const Scene& s) { return s.request.quant_scale2.has_value(); },
     [](const Scene& s) { return TensorText(s.request.quant_scale2); }},
};

}  // namespace

Status CheckSupported(const Scene& scene) {
    if (Status status = CheckKernelsExist(kPromptFlashAttention, scene.soc); !status.ok()) {
        return status;
    }
    return CheckUnsupported(kPromptFlashAttention, kUnsupported, scene);
}

void Advise(const Scene& scene, Status* status) {
    if (!scene.extended()) {
        Scene lifted(scene.request, scene.soc, Contract::kExtended);
        MentionExtended(CheckDocument(lifted), status);
    }
    if (scene.soc.product == Product::kAtlasA2A3) {  // other products have other features, and no kernels at all
        MentionUnsupportedRow(kUnsupported, scene, status);
    }
}

}  // namespace ascend_attention::pfa
