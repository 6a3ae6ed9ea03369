// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/rules.h"

#include <initializer_list>

namespace ascend_attention::fia_v2 {
namespace {

// Rules first ... last of the catalogue.
struct Span {
    int first;
    int last;
    constexpr Span(int one) : first(one), last(one) {}  // NOLINT: {1, {3, 5}} is how rules are written
    constexpr Span(int from, int to) : first(from), last(to) {}
};

RuleGroup Group(std::initializer_list<Span> spans, const char* about, bool (*applies)(const Scene&)) {
    RuleGroup group;
    group.about = about;
    group.applies = applies;
    for (const Span& span : spans) {
        group.rules += Concat(group.rules.empty() ? "FIA-C" : ", C", span.first);
        if (span.last > span.first) {
            group.rules += Concat(" to C", span.last);
        }
        for (int number = span.first; number <= span.last; ++number) {
            group.numbers.push_back(number);
        }
    }
    return group;
}

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

std::vector<RuleGroup> MakeGroups() {
    return {
        Group({{1, 8}, 12}, "dtypes, contiguity, input_layout, ranks, inner_precise", Always),
        Group({9}, "Q_S with BNSD_BSND", [](S s) { return s.request.input_layout == "BNSD_BSND"; }),
        Group({10, 11}, "results with heads first", [](S s) { return s.layout->head_first_output(); }),
        Group({13}, "inner_precise when Q_S is 1 or head_dim 512", Decode),
        Group({{14, 16}, {23, 25}}, "head counts, head_dim, batch", Always),
        Group({17}, "query heads per key/value head", [](S s) { return !s.rope(); }),
        Group({18}, "num_query_heads and the N axis", [](S s) { return s.layout->input != AxisOrder::kBSH; }),
        Group({19}, "num_key_value_heads and the N axis",
              [](S s) { return s.layout->input != AxisOrder::kBSH && Batched(s) && Dense(s); }),
        Group({20}, "num_query_heads and H", [](S s) { return s.layout->input == AxisOrder::kBSH; }),
        Group({21, 22}, "shapes of key and value", [](S s) { return Batched(s) && Dense(s); }),
        Group({35}, "lists of tensors",
              [](S s) { return s.lists() || s.request.value_list || s.request.key_rope_list; }),
        Group({26, 28, 30}, "limits of heads, lengths and head_dim when Q_S > 1", Prefill),
        Group({27, 29}, "limits of heads and lengths when Q_S is 1 or head_dim 512", Decode),
        Group({36, 37}, "actual_seq_qlen", QueryLengthsGiven),
        Group({38, 39}, "actual_seq_kvlen", KeyLengthsGiven),
        Group({41}, "dtype of atten_mask", Mask),
        Group({42}, "sparse_mode", [](S s) { return !s.single_row() || s.rope(); }),
        Group({43}, "the compressed mask",
              [](S s) { return Compressed(s) && (FullRules(s) || (s.packed() && Mask(s))); }),
        Group({44}, "sparse_mode 1 and its mask", [](S s) { return FullRules(s) && s.request.sparse_mode == 1; }),
        Group({45}, "shape of a full mask", [](S s) { return FullRules(s) && s.request.sparse_mode <= 1 && Mask(s); }),
        Group({46}, "the mask of one query row",
              [](S s) { return Batched(s) && s.single_row() && !s.wide_rope() && Mask(s); }),
        Group({47, 48}, "pre_tokens and next_tokens together", Tokens),
        Group({49}, "pre_tokens and next_tokens from the left top",
              [](S s) { return Tokens(s) && s.request.sparse_mode == 0; }),
        Group({50}, "pre_tokens and next_tokens from the right end",
              [](S s) { return Tokens(s) && s.request.sparse_mode == 4; }),
        Group({52}, "shape of pse_shift", [](S s) { return Pse(s) && Dense(s); }),
        Group({54}, "dtype of pse_shift when Q_S > 1", [](S s) { return Pse(s) && Rows(s); }),
        Group({53, 55}, "pse_shift when Q_S is 1", [](S s) { return Pse(s) && s.single_row(); }),
        Group({56}, "mask and pse_shift over a paged cache", [](S s) { return s.paged() && (Mask(s) || Pse(s)); }),
        Group({57, 58, {64, 67}, 69}, "block_table and the cache", [](S s) { return s.paged(); }),
        Group({59, 61}, "paged cache when Q_S > 1", [](S s) { return s.paged() && Prefill(s); }),
        Group({60}, "block_size when Q_S is 1 or head_dim 512", [](S s) { return s.paged() && Decode(s); }),
        Group({62, 68}, "paged cache when Q_S is 1 or head_dim 512", [](S s) { return s.paged() && Decode(s); }),
        Group({63}, "H of a (blocks, block_size, H) cache", [](S s) { return s.cache == Cache::kBBH; }),
        Group({70}, "quant_offset_out", [](S s) { return s.request.quant_offset_out.has_value(); }),
        Group({{71, 73}}, "quant_scale_out", QuantOut),
        Group({74}, "quant_scale_out per channel when Q_S is 1", [](S s) { return QuantOut(s) && s.single_row(); }),
        Group({75, 76, 77}, "quantised output when Q_S > 1", [](S s) { return QuantOut(s) && Rows(s); }),
        Group({80, 81, 82, 85}, "dequantisation scales and offsets",
              [](S s) { return !s.int8_query() && (s.has_key_scale() || s.has_key_offset()); }),
        Group({83, 84}, "equal forms of scales and offsets", Antiquant),
        Group({{86, 89}}, "quantised keys when Q_S > 1", [](S s) { return Antiquant(s) && Rows(s); }),
        Group({90}, "scales per token when Q_S > 1",
              [](S s) { return Antiquant(s) && Rows(s) && !Nz(s) && s.request.key_quant_mode == 1; }),
        Group({91}, "scales per channel when Q_S > 1",
              [](S s) { return Antiquant(s) && Rows(s) && !Nz(s) && s.request.key_quant_mode == 0; }),
        Group({92, {94, 100}}, "quantised keys when Q_S is 1",
              [](S s) { return Antiquant(s) && s.single_row() && !Nz(s); }),
        Group({{101, 106}}, "query_rope and key_rope", [](S s) { return s.rope(); }),
        Group({107}, "softmax_lse with rope and head_dim 512", [](S s) { return s.wide_rope(); }),
        Group({{108, 110}}, "heads and mask with rope and head_dim 512", Wide),
        Group({{112, 114}}, "Q_S, heads and paging with rope and head_dim 512", WideCausal),
        Group({115, 116}, "cache with rope and head_dim 512",
              [](S s) { return s.paged() && s.wide_rope() && (s.packed() || s.request.sparse_mode != 4); }),
        Group({125, 126}, "sparse_mode 4 with rope and head_dim 512", WideBand),
        Group({117, {118, 122}, 127}, "int8 query", Full),
        Group({124}, "no quantisation of query", [](S s) { return !s.int8_query(); }),
        Group({130}, "no block_table with rope and head_dim 128", [](S s) { return s.rope() && s.head_dim == 128; }),
        Group({132, 133, 134, 136, 137, 138}, "token-packed lengths, sparse_mode and exclusions",
              [](S s) { return s.packed(); }),
        Group({135}, "token-packed key lengths", [](S s) { return s.packed(); }),
        Group({{139, 141}}, "token-packed with head_dim 512", PackedWide),
        Group({142, 143}, "token-packed layout and dtype", PackedNarrow),
        Group({144}, "head_dim of TND", [](S s) { return PackedNarrow(s) && s.layout->input == AxisOrder::kTND; }),
        Group({145}, "head_dim of NTD_TND", [](S s) { return PackedNarrow(s) && s.layout->input == AxisOrder::kNTD; }),
        Group({146}, "head_dim of token-packed calls with rope", [](S s) { return PackedNarrow(s) && s.rope(); }),
        Group({147}, "value head_dim 192", [](S s) { return PackedNarrow(s) && s.value_head_dim == 192; }),
        Group({148}, "token-packed sparse_mode 3", [](S s) { return PackedNarrow(s) && s.request.sparse_mode == 3; }),
        Group({149, 150}, "token-packed sparse_mode 4",
              [](S s) { return PackedNarrow(s) && s.request.sparse_mode == 4; }),
        Group({151}, "block_size of token-packed calls", [](S s) { return PackedNarrow(s) && s.paged(); }),
        Group({152}, "token-packed key and value heads", [](S s) { return s.packed() && Dense(s); }),
        Group({{153, 160}}, "int8 cache in NZ form", Nz),
        Group({161}, "learnable_sink", [](S s) { return s.request.learnable_sink.has_value(); }),
    };
}

}  // namespace

const std::vector<RuleGroup>& RuleGroups() {
    static const std::vector<RuleGroup> groups = MakeGroups();
    return groups;
}

}  // namespace ascend_attention::fia_v2
