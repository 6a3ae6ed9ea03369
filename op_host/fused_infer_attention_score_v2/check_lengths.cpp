// SPDX-License-Identifier: Apache-2.0
// FIA 3: actual_seq_qlen and actual_seq_kvlen of layouts with a batch axis.
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

// A sequence of a list has no more keys than its own tensor holds.
Status CheckListLengths(const Scene& scene) {
    const SequenceLengths lengths = KeyLengths(scene);
    for (size_t b = 0; b < lengths.size(); ++b) {
        if (lengths[b] > scene.list_lengths[b]) {
            return Refuse("FIA-C39", "actual_seq_kvlen", Concat("length ", lengths[b], " for sequence ", b),
                          Concat("at most the ", scene.list_lengths[b], " tokens of key[", b, "]"));
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckLengths(Scene& scene) {
    if (scene.packed()) {
        return OkStatus();  // FIA 12
    }
    if (!scene.single_row()) {  // with one query row the list is ignored
        const LengthRules query_rules = {kFusedInferAttentionScoreV2, "actual_seq_qlen", "FIA-C36", "FIA-C37", "Q_S"};
        Status status = CheckLengthList(query_rules, scene.request.actual_seq_qlen, scene.batch, scene.query_length);
        if (!status.ok()) {
            return status;
        }
    }
    const OptionalLengths& keys = scene.request.actual_seq_kvlen;
    if (scene.paged() && keys && (keys->size() == 1 || int64_t(keys->size()) >= scene.batch)) {
        // KV_S is what block_table has room for: a length beyond it says that the table is too narrow.
        if (Status status = CheckTableColumns(scene, KeyLengths(scene)); !status.ok()) {
            return status;
        }
    }
    const LengthRules key_rules = {kFusedInferAttentionScoreV2, "actual_seq_kvlen", "FIA-C38", "FIA-C39", "KV_S"};
    Status status = CheckLengthList(key_rules, keys, scene.batch, scene.key_length);
    return status.ok() && scene.lists() ? CheckListLengths(scene) : status;
}

}  // namespace ascend_attention::fia_v2
