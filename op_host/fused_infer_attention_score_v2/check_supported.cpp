// SPDX-License-Identifier: Apache-2.0
// The one list of what the document allows and the engine does not do yet.
#include "common/unsupported.h"
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

const Unsupported<Scene> kUnsupported[] = {
    {"query", "float16, bfloat16", [](const Scene& s) { return s.int8_query(); },
     [](const Scene& s) { return DTypeText(*s.request.query); }},
    {"key", "float16, bfloat16", [](const Scene& s) { return s.quantised_keys(); },
     [](const Scene& s) { return DTypeText(*s.request.key); }},
    {"quant_scale_out", "no quant_scale_out: a result in the dtype of query",
     [](const Scene& s) { return s.request.quant_scale_out.has_value(); },
     [](const Scene& s) { return TensorText(s.request.quant_scale_out); }},
    {"sparse_mode", "0, 1, 2, 3, 4", [](const Scene& s) { return s.request.sparse_mode == 9; },
     [](const Scene& s) { return std::to_string(s.request.sparse_mode); }},
};

}  // namespace

Status CheckSupported(Scene& scene) {
    return CheckUnsupported<Scene>(kFusedInferAttentionScoreV2, kUnsupported, scene);
}

void Advise(const Scene& scene, Status* status) {
    if (!scene.extended()) {
        Scene lifted(scene.request, Contract::kExtended);
        MentionExtended(CheckDocument(lifted), status);
    }
    const bool reads_dense = !scene.paged() && scene.request.block_size > 0;
    if (reads_dense &&
        (status->argument == "key" || status->argument == "value" || status->argument == "num_key_value_heads")) {
        AddHelp("block_size is given, block_table is not: key and value are read as dense.", status);
    }
    MentionUnsupportedRow(kUnsupported, scene, status);
}

}  // namespace ascend_attention::fia_v2
