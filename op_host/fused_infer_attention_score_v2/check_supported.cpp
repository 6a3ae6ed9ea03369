// SPDX-License-Identifier: Apache-2.0
// The one list of what the document allows and the engine does not do yet.
#include "common/unsupported.h"
#include "fused_infer_attention_score_v2/check.h"
#include "plan/attention_plan.h"

namespace ascend_attention::fia_v2 {
namespace {

std::string LayoutText(const Scene& scene) { return Concat("'", scene.layout->name, "'"); }
std::string LengthText(const Scene& scene) { return Concat("Q_S ", scene.query_length); }

constexpr const char* kLayoutsSupported = "BSH, BSND, BNSD, BNSD_BSND";

const Unsupported<Scene> kUnsupported[] = {
    {"input_layout", kLayoutsSupported, [](const Scene& s) { return s.packed(); }, LayoutText},
    {"input_layout", kLayoutsSupported, [](const Scene& s) { return s.layout->head_first_output(); }, LayoutText},
    {"query_rope", "None", [](const Scene& s) { return s.rope(); },
     [](const Scene& s) { return TensorText(s.request.query_rope); }},
    {"key", "one tensor", [](const Scene& s) { return s.lists(); },
     [](const Scene& s) { return TensorListText(*s.request.key_list); }},
    {"block_table", "None (dense key and value)", [](const Scene& s) { return s.paged(); },
     [](const Scene& s) { return TensorText(s.request.block_table); }},
    {"query", "float16, bfloat16", [](const Scene& s) { return s.int8_query(); },
     [](const Scene& s) { return DTypeText(*s.request.query); }},
    {"key", "float16, bfloat16", [](const Scene& s) { return s.quantised_keys(); },
     [](const Scene& s) { return DTypeText(*s.request.key); }},
    {"quant_scale_out", "None (output in the dtype of query)",
     [](const Scene& s) { return s.request.quant_scale_out.has_value(); },
     [](const Scene& s) { return TensorText(s.request.quant_scale_out); }},
    {"pse_shift", "None", [](const Scene& s) { return s.request.pse_shift.has_value(); },
     [](const Scene& s) { return TensorText(s.request.pse_shift); }},
    {"learnable_sink", "None", [](const Scene& s) { return s.request.learnable_sink.has_value(); },
     [](const Scene& s) { return TensorText(s.request.learnable_sink); }},
    {"query", "Q_S > 1", [](const Scene& s) { return s.single_row(); }, LengthText},
    {"query", "head_dim a multiple of 16, up to 256",
     [](const Scene& s) { return s.head_dim > NarrowHeads::kHeadDimMax || s.head_dim % 16 != 0; },
     [](const Scene& s) { return Concat("head_dim ", s.head_dim); }},
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
