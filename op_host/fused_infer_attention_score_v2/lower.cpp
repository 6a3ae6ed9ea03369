// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/lower.h"

namespace ascend_attention::fia_v2 {
namespace {

int64_t RopeDim(const Scene& scene) { return scene.rope() ? kRopeDim : 0; }

// A cache of (blocks, ...) whose heads have `dim` channels.
KeyAddressing::Part CachePart(const Scene& scene, int64_t dim) {
    const int64_t size = scene.request.block_size;
    const int64_t heads = scene.key_heads;
    const int64_t block = heads * size * dim;
    switch (scene.cache) {
        case Cache::kBNBD:
            return {{size * dim, dim}, block};
        case Cache::kNZ:
            return {{size * dim, kNzLane}, block};
        default:
            return {{dim, heads * dim}, block};
    }
}

KeyAddressing PagedKeys(const Scene& scene) {
    KeyAddressing keys;
    keys.placement = scene.cache == Cache::kNZ ? KeyPlacement::kPagedNz : KeyPlacement::kPagedRows;
    keys.key = CachePart(scene, scene.head_dim);
    keys.key_rope = CachePart(scene, RopeDim(scene));
    keys.value = CachePart(scene, scene.value_head_dim);
    keys.block_size = scene.request.block_size;
    keys.entries = scene.request.block_table->shape[1];
    return keys;
}

// Heads have addresses of their own: how far they are apart depends on a tensor's length, which differs in a list.
KeyAddressing ListedKeys(const Scene& scene) {
    KeyAddressing keys = DenseKeys(scene);
    keys.placement = KeyPlacement::kList;
    keys.key.strides.head = 0;
    keys.value.strides.head = 0;
    keys.entries = scene.key_heads;
    return keys;
}

// Of one query row: (B, KV_S), (B, 1, KV_S) or (B, 1, 1, KV_S), the axes of 1 maybe larger; its row is the first.
MaskPlanes OneRowMask(const Scene& scene) {
    const OptionalTensor& mask = scene.request.atten_mask;
    MaskPlanes planes = MaskPlanesOf(mask, scene.rope() ? scene.request.sparse_mode : 0, scene.batch);
    if (planes.read && mask->shape.size() == 2) {
        planes.plane = planes.row;
    }
    return planes;
}

}  // namespace

bool OneFreeRow(const Scene& scene) { return scene.single_row() && !scene.rope(); }

BandArguments BandArgumentsOf(const Scene& scene) {
    const Request& request = scene.request;
    if (OneFreeRow(scene)) {
        return {};
    }
    return {request.atten_mask.has_value(), request.sparse_mode, request.pre_tokens, request.next_tokens};
}

AttentionProblem Lower(const Scene& scene) {
    const Request& request = scene.request;
    CallTerms terms;
    terms.op = kFusedInferAttentionScoreV2;
    terms.dtype = request.query->dtype;
    terms.rope_dim = RopeDim(scene);
    terms.query_lengths = QueryLengths(scene);
    terms.key_lengths = KeyLengths(scene);
    terms.band = BandArgumentsOf(scene);
    terms.mask =
        scene.single_row() ? OneRowMask(scene) : MaskPlanesOf(request.atten_mask, request.sparse_mode, scene.batch);
    terms.bias = BiasPlanesOf(request.pse_shift);
    terms.sink = request.learnable_sink.has_value();
    terms.writes_lse = request.return_softmax_lse;
    terms.scale = request.softmax_scale;
    return LowerCall(scene, terms,
                     scene.paged()   ? PagedKeys(scene)
                     : scene.lists() ? ListedKeys(scene)
                                     : DenseKeys(scene, terms.rope_dim));
}

AddressList ListAddresses(const Scene& scene) {
    AddressList list;
    if (!scene.lists()) {
        return list;
    }
    list.heads = scene.key_heads;
    const int64_t bytes = SizeOf(scene.request.key->dtype) * scene.head_dim;
    const bool heads_outermost = scene.layout->input == AxisOrder::kBNSD;
    list.head_bytes.reserve(scene.list_lengths.size());
    for (const int64_t length : scene.list_lengths) {
        list.head_bytes.push_back(heads_outermost ? length * bytes : bytes);
    }
    return list;
}

}  // namespace ascend_attention::fia_v2
