// SPDX-License-Identifier: Apache-2.0
#include "block_sparse_attention_v2/lower.h"

#include <algorithm>

#include "common/integers.h"
#include "plan/lowering.h"

namespace ascend_attention::bsa_v2 {
namespace {

CallSizes SizesOf(const Scene& scene) {
    CallSizes sizes;
    sizes.layout = scene.layout;
    sizes.batch = scene.packed() ? 0 : scene.batch;
    sizes.tokens = scene.query_length;
    sizes.query_length = scene.query_length;
    sizes.query_heads = scene.query_heads;
    sizes.head_dim = scene.head_dim;
    sizes.key_heads = scene.key_heads;
    sizes.key_tokens = scene.key_length;
    sizes.key_length = scene.key_length;
    sizes.value_head_dim = scene.head_dim;
    return sizes;
}

SequenceLengths LengthsOf(const OptionalLengths& given, int64_t batch, int64_t whole) {
    return HasLengths(given) ? SequenceLengths(LengthsView(*given)) : SequenceLengths(Lengths(size_t(batch), whole));
}

}  // namespace

AttentionProblem Lower(const Scene& scene) {
    const Request& request = scene.request;
    const CallSizes sizes = SizesOf(scene);
    CallTerms terms;
    terms.op = kBlockSparseAttentionV2;
    terms.dtype = request.query->dtype;
    terms.query_lengths = LengthsOf(request.actual_seq_lengths, scene.batch, scene.query_length);
    terms.key_lengths = LengthsOf(request.actual_seq_lengths_kv, scene.batch, scene.key_length);
    terms.map = BlockMapOf(*request.block_sparse_mask, scene.block_x);
    terms.lse_order = scene.layout->input;
    terms.writes_lse = request.wants_lse();
    terms.scale = request.scale_value;
    // Blocks beyond the longest sequence are as good as blocks of its length; block_y is any 64-bit number.
    constexpr int64_t kBlockUnit = 128;
    KeyAddressing keys = DenseKeys(sizes);
    keys.placement = KeyPlacement::kSelected;
    keys.block_size = std::min(scene.block_y, RoundUp(std::max<int64_t>(scene.key_longest, 1), kBlockUnit));
    return LowerCall(sizes, terms, keys);
}

}  // namespace ascend_attention::bsa_v2
