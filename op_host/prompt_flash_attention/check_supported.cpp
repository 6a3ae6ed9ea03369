// SPDX-License-Identifier: Apache-2.0
// The one list of what the document allows and the engine does not do yet.
#include "common/unsupported.h"
#include "plan/attention_plan.h"
#include "prompt_flash_attention/check.h"

namespace ascend_attention::pfa {
namespace {

const Unsupported<Scene> kUnsupported[] = {
    {"input_layout", "BSH, BSND, BNSD, BNSD_BSND", [](const Scene& s) { return s.packed(); },
     [](const Scene& s) { return Concat("'", s.layout->name, "'"); }},
    {"query", "float16, bfloat16", [](const Scene& s) { return s.int8_query(); },
     [](const Scene& s) { return DTypeText(*s.request.query); }},
    {"quant_scale2", "None (output in the dtype of query)",
     [](const Scene& s) { return s.request.quant_scale2.has_value(); },
     [](const Scene& s) { return TensorText(s.request.quant_scale2); }},
    {"pse_shift", "None", [](const Scene& s) { return s.request.pse_shift.has_value(); },
     [](const Scene& s) { return TensorText(s.request.pse_shift); }},
    {"query", "head_dim a multiple of 16, up to 256",
     [](const Scene& s) { return s.head_dim > NarrowHeads::kHeadDimMax || s.head_dim % 16 != 0; },
     [](const Scene& s) { return Concat("head_dim ", s.head_dim); }},
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
