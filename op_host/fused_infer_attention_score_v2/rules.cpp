// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/rules.h"

namespace ascend_attention::fia_v2 {
namespace {

// Words for the scopes of the catalogue.
using S = const Scene&;
bool Always(S) { return true; }
bool Prefill(S s) { return s.prefill_rules(); }
bool Decode(S s) { return s.decode_rules(); }
bool Batched(S s) { return !s.packed(); }
bool Dense(S s) { return !s.paged(); }
bool Rows(S s) { return !s.single_row(); }
bool Mask(S s) { return s.request.atten_mask.has_value(); }
bool Pse(S s) { return s.request.pse_shift.has_value() && !s.packed() && !s.rope(); }
bool Compressed(S s) { return s.request.sparse_mode >= 2 && s.request.sparse_mode <= 4; }
bool FullRules(S s) { return Batched(s) && Rows(s) && !s.wide_rope(); }  // masks by FIA 4 proper
bool Tokens(S s) { return FullRules(s) && ((s.request.sparse_mode == 0 && Mask(s)) || s.request.sparse_mode == 4); }
bool QuantOut(S s) { return s.request.quant_scale_out && !s.packed() && !s.rope(); }
bool Antiquant(S s) { return s.antiquant() && !s.rope() && !s.packed(); }
bool Nz(S s) { return s.cache == Cache::kNZ && !s.rope(); }
bool Wide(S s) { return s.wide_rope() && !s.packed(); }
bool WideCausal(S s) { return Wide(s) && s.request.sparse_mode != 4; }
bool WideBand(S s) { return Wide(s) && s.request.sparse_mode == 4; }
bool Full(S s) { return s.int8_query(); }
bool PackedWide(S s) { return s.packed() && s.head_dim == 512; }
bool PackedNarrow(S s) { return s.packed() && s.head_dim != 512; }
bool QueryLengthsGiven(S s) { return Batched(s) && Rows(s) && HasLengths(s.request.actual_seq_qlen); }
bool KeyLengthsGiven(S s) { return Batched(s) && HasLengths(s.request.actual_seq_kvlen); }

RuleGroups<Scene> MakeScopes() {
    const auto group = [](std::initializer_list<RuleSpan> spans, const char* about, bool (*applies)(const Scene&)) {
        return RuleGroup<Scene>("FIA", spans, about, applies);
    };
    return {
        group({{1, 8}, 12}, "dtypes, contiguity, input_layout, ranks, inner_precise", Always),
        group({9}, "Q_S with BNSD_BSND", [](S s) { return s.request.input_layout == "BNSD_BSND"; }),
        group({10, 11}, "results with heads first", [](S s) { return s.layout->head_first_output(); }),
        group({13}, "inner_precise when Q_S is 1 or head_dim 512", Decode),
        group({{14, 16}, {23, 25}}, "head counts, head_dim, batch", Always),
        group({17}, "query heads per key/value head", [](S s) { return !s.rope(); }),
        group({18}, "num_query_heads and the N axis", [](S s) { return s.layout->input != AxisOrder::kBSH; }),
        group({19}, "num_key_value_heads and the N axis",
              [](S s) { return s.layout->input != AxisOrder::kBSH && Batched(s) && Dense(s); }),
        group({20}, "num_query_heads and H", [](S s) { return s.layout->input == AxisOrder::kBSH; }),
        group({21, 22}, "shapes of key and value", [](S s) { return Batched(s) && Dense(s); }),
        group({35}, "lists of tensors",
              [](S s) { return s.lists() || s.request.value_list || s.request.key_rope_list; }),
        group({26, 28, 30}, "limits of heads, lengths and head_dim when Q_S > 1", Prefill),
        group({27, 29}, "limits of heads and lengths when Q_S is 1 or head_dim 512", Decode),
        group({36, 37}, "actual_seq_qlen", QueryLengthsGiven),
        group({38, 39}, "actual_seq_kvlen", KeyLengthsGiven),
        group({41}, "dtype of atten_mask", Mask),
        group({42}, "sparse_mode", [](S s) { return !s.single_row() || s.rope(); }),
        group({43}, "the compressed mask",
              [](S s) { return Compressed(s) && (FullRules(s) || (s.packed() && Mask(s))); }),
        group({44}, "sparse_mode 1 and its mask", [](S s) { return FullRules(s) && s.request.sparse_mode == 1; }),
        group({45}, "shape of a full mask", [](S s) { return FullRules(s) && s.request.sparse_mode <= 1 && Mask(s); }),
        group({46}, "the mask of one query row",
              [](S s) { return Batched(s) && s.single_row() && !s.wide_rope() && Mask(s); }),
        group({47, 48}, "pre_tokens and next_tokens together", Tokens),
        group({49}, "pre_tokens and next_tokens from the left top",
              [](S s) { return Tokens(s) && s.request.sparse_mode == 0; }),
        group({50}, "pre_tokens and next_tokens from the right end",
              [](S s) { return Tokens(s) && s.request.sparse_mode == 4; }),
        group({52}, "shape of pse_shift", [](S s) { return Pse(s) && Dense(s); }),
        group({54}, "dtype of pse_shift when Q_S > 1", [](S s) { return Pse(s) && Rows(s); }),
        group({53, 55}, "pse_shift when Q_S is 1", [](S s) { return Pse(s) && s.single_row(); }),
        group({56}, "mask and pse_shift over a paged cache", [](S s) { return s.paged() && (Mask(s) || Pse(s)); }),
        group({57, 58, {64, 67}, 69}, "block_table and the cache", [](S s) { return s.paged(); }),
        group({59, 61}, "paged cache when Q_S > 1", [](S s) { return s.paged() && Prefill(s); }),
        group({60}, "block_size when Q_S is 1 or head_dim 512", [](S s) { return s.paged() && Decode(s); }),
        group({62, 68}, "paged cache when Q_S is 1 or head_dim 512", [](S s) { return s.paged() && Decode(s); }),
        group({63}, "H of a (blocks, block_size, H) cache", [](S s) { return s.cache == Cache::kBBH; }),
        group({70}, "quant_offset_out", [](S s) { return s.request.quant_offset_out.has_value(); }),
        group({{71, 73}}, "quant_scale_out", QuantOut),
        group({74}, "quant_scale_out per channel when Q_S is 1", [](S s) { return QuantOut(s) && s.single_row(); }),
        group({75, 76, 77}, "quantised output when Q_S > 1", [](S s) { return QuantOut(s) && Rows(s); }),
        group({80, 81, 82, 85}, "dequantisation scales and offsets",
              [](S s) { return !s.int8_query() && (s.has_key_scale() || s.has_key_offset()); }),
        group({83, 84}, "equal forms of scales and offsets", Antiquant),
        group({{86, 89}}, "quantised keys when Q_S > 1", [](S s) { return Antiquant(s) && Rows(s); }),
        group({90}, "scales per token when Q_S > 1",
              [](S s) { return Antiquant(s) && Rows(s) && !Nz(s) && s.request.key_quant_mode == 1; }),
        group({91}, "scales per channel when Q_S > 1",
              [](S s) { return Antiquant(s) && Rows(s) && !Nz(s) && s.request.key_quant_mode == 0; }),
        group({92, {94, 100}}, "quantised keys when Q_S is 1",
              [](S s) { return Antiquant(s) && s.single_row() && !Nz(s); }),
        group({{101, 106}}, "query_rope and key_rope", [](S s) { return s.rope(); }),
        group({107}, "softmax_lse with rope and head_dim 512", [](S s) { return s.wide_rope(); }),
        group({{108, 110}}, "heads and mask with rope and head_dim 512", Wide),
        group({{112, 114}}, "Q_S, heads and paging with rope and head_dim 512", WideCausal),
        group({115, 116}, "cache with rope and head_dim 512",
              [](S s) { return s.paged() && s.wide_rope() && (s.packed() || s.request.sparse_mode != 4); }),
        group({125, 126}, "sparse_mode 4 with rope and head_dim 512", WideBand),
        group({117, {118, 122}, 127}, "int8 query", Full),
        group({124}, "no quantisation of query", [](S s) { return !s.int8_query(); }),
        group({130}, "no block_table with rope and head_dim 128", [](S s) { return s.rope() && s.head_dim == 128; }),
        group({132, 133, 134, 136, 137, 138}, "token-packed lengths, sparse_mode and exclusions",
              [](S s) { return s.packed(); }),
        group({135}, "token-packed key lengths", [](S s) { return s.packed(); }),
        group({{139, 141}}, "token-packed with head_dim 512", PackedWide),
        group({142, 143}, "token-packed layout and dtype", PackedNarrow),
        group({144}, "head_dim of TND", [](S s) { return PackedNarrow(s) && s.layout->input == AxisOrder::kTND; }),
        group({145}, "head_dim of NTD_TND", [](S s) { return PackedNarrow(s) && s.layout->input == AxisOrder::kNTD; }),
        group({146}, "head_dim of token-packed calls with rope", [](S s) { return PackedNarrow(s) && s.rope(); }),
        group({147}, "value head_dim 192", [](S s) { return PackedNarrow(s) && s.value_head_dim == 192; }),
        group({148}, "token-packed sparse_mode 3", [](S s) { return PackedNarrow(s) && s.request.sparse_mode == 3; }),
        group({149, 150}, "token-packed sparse_mode 4",
              [](S s) { return PackedNarrow(s) && s.request.sparse_mode == 4; }),
        group({151}, "block_size of token-packed calls", [](S s) { return PackedNarrow(s) && s.paged(); }),
        group({152}, "token-packed key and value heads", [](S s) { return s.packed() && Dense(s); }),
        group({{153, 160}}, "int8 cache in NZ form", Nz),
        group({161}, "learnable_sink", [](S s) { return s.request.learnable_sink.has_value(); }),
    };
}

}  // namespace

const RuleGroups<Scene>& ScopesOfRules() {
    static const RuleGroups<Scene> scopes = MakeScopes();
    return scopes;
}

}  // namespace ascend_attention::fia_v2
