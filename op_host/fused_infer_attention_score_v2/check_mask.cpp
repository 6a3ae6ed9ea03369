// SPDX-License-Identifier: Apache-2.0
// FIA 4: atten_mask, sparse_mode, pre_tokens and next_tokens.
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckSparseMode(const Scene& scene) {
    const int64_t mode = scene.request.sparse_mode;
    // Without rope, one query row ignores sparse_mode altogether.
    if (scene.single_row() && !scene.rope()) {
        return OkStatus();
    }
    if (mode == 9 && scene.extended()) {
        return OkStatus();  // tree mask of newer documents: refused later as not built yet
    }
    if (mode < 0 || mode > 4) {
        return Refuse("FIA-C42", "sparse_mode", std::to_string(mode), "0, 1, 2, 3, 4");
    }
    return OkStatus();
}

// (B, KV_S), (B, 1, KV_S) or (B, 1, 1, KV_S); a row's axis may be padded as KV_S may.
Status CheckSingleRowMask(const Scene& scene) {
    const Shape& shape = scene.request.atten_mask->shape;
    const size_t rank = shape.size();
    const bool ranked = rank == 2 || (rank == 3 && shape[1] >= 1) || (rank == 4 && shape[1] == 1 && shape[2] >= 1);
    if (!ranked || shape.front() != scene.batch || shape.back() < scene.key_length) {
        const std::string batch = Concat("(", scene.batch, ", ");
        const std::string keys = Concat(scene.key_length, ")");
        return Refuse("FIA-C46", "atten_mask", Concat("shape ", ShapeText(shape)),
                      Concat(batch, keys, ", ", batch, "1, ", keys, " or ", batch, "1, 1, ", keys,
                             " with Q_S 1; the last dimension may be larger"));
    }
    return OkStatus();
}

}  // namespace

Status CheckMask(Scene& scene) {
    const Request& request = scene.request;
    const OptionalTensor& mask = request.atten_mask;
    const MaskArguments arguments = MaskOf(scene);
    if (Status status = CheckMaskDType(arguments, "FIA-C41"); !status.ok()) {
        return status;
    }
    if (Status status = CheckSparseMode(scene); !status.ok()) {
        return status;
    }
    if (scene.packed() || scene.wide_rope()) {
        return OkStatus();  // FIA 11 and 12 have their own mask rules
    }
    if (scene.empty_query() && !mask) {
        return OkStatus();
    }
    if (scene.single_row()) {
        return mask ? CheckSingleRowMask(scene) : OkStatus();
    }
    if (request.sparse_mode >= 2 && request.sparse_mode <= 4) {
        if (Status status = CheckCompressedMask(arguments, "FIA-C43"); !status.ok()) {
            return status;
        }
    }
    if (Status status = CheckAllMask(arguments, "FIA-C44"); !status.ok()) {
        return status;
    }
    if (request.sparse_mode <= 1 && mask) {
        if (Status status = CheckFullMask(arguments, scene.paged() ? "FIA-C56" : "FIA-C45"); !status.ok()) {
            return status;
        }
    }
    if (scene.empty_query()) {
        return OkStatus();  // there is no row that pre_tokens and next_tokens could hide
    }
    const bool uses_tokens = (request.sparse_mode == 0 && mask) || request.sparse_mode == 4;
    const TokenRules rules = {"FIA-C47", "FIA-C48", "FIA-C49", "FIA-C50"};
    return uses_tokens ? CheckTokens(arguments, rules, QueryLengths(scene), KeyLengths(scene)) : OkStatus();
}

}  // namespace ascend_attention::fia_v2
