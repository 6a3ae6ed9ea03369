// SPDX-License-Identifier: Apache-2.0
#include "plan/lowering.h"

#include <algorithm>

namespace ascend_attention {
namespace {

// A layout is an addressing rule: strides, and elements from one batch to the next. `batch` and `length` are those of
// the whole tensor; a token-packed one has a single batch of T tokens.
struct Addressing {
    HeadStrides strides{};
    int64_t batch = 0;
};

Addressing AddressingOf(AxisOrder order, int64_t batch, int64_t heads, int64_t length, int64_t dim) {
    switch (order) {
        case AxisOrder::kBNSD:
        case AxisOrder::kNTD:
            return {{length * dim, dim}, heads * length * dim};
        case AxisOrder::kNBSD:
            return {{batch * length * dim, dim}, length * dim};
        default:  // BSH, BSND and TND are the same memory
            return {{dim, heads * dim}, length * heads * dim};
    }
}

// The tensors that have a row for each query row and head.
struct RowAddressing {
    Addressing query;
    Addressing query_rope;
    Addressing output;
    Addressing lse;
};

RowAddressing RowsOf(const CallSizes& sizes, const CallTerms& terms) {
    const bool packed = sizes.packed();
    const int64_t length = packed ? sizes.tokens : sizes.query_length;
    const auto of = [&](AxisOrder order, int64_t dim) {
        return AddressingOf(order, sizes.batch, sizes.query_heads, length, dim);
    };
    RowAddressing rows;
    rows.query = of(sizes.layout->input, sizes.head_dim);
    rows.query_rope = of(sizes.layout->input, terms.rope_dim);
    rows.output = of(sizes.layout->output, sizes.value_head_dim);
    rows.lse = of(terms.lse_order.value_or(packed ? AxisOrder::kTND : AxisOrder::kBNSD), 1);
    return rows;
}

bool HeadsOutermost(AxisOrder order) { return order == AxisOrder::kBNSD || order == AxisOrder::kNTD; }

AttentionProblem ProblemOf(const CallSizes& sizes, const CallTerms& terms, const RowAddressing& rows,
                           const KeyAddressing& keys) {
    const bool paged = keys.placement == KeyPlacement::kPagedRows || keys.placement == KeyPlacement::kPagedNz;
    AttentionProblem problem;
    problem.op = terms.op;
    problem.dtype = terms.dtype;
    problem.query_heads = sizes.query_heads;
    problem.key_heads = sizes.key_heads;
    problem.head_dim = sizes.head_dim + terms.rope_dim;
    problem.rope_dim = terms.rope_dim;
    problem.value_head_dim = sizes.value_head_dim;
    problem.query = rows.query.strides;
    problem.query_rope = rows.query_rope.strides;
    problem.output = rows.output.strides;
    problem.lse = rows.lse.strides;
    problem.fold_order = HeadsOutermost(sizes.layout->input) ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
    problem.key_placement = keys.placement;
    problem.key = keys.key.strides;
    problem.key_rope = keys.key_rope.strides;
    problem.value = keys.value.strides;
    problem.block_size = keys.block_size;
    const auto block = [&](const KeyAddressing::Part& part) {
        return paged ? part.step : keys.placement == KeyPlacement::kSelected ? keys.block_size * part.strides.row : 0;
    };
    problem.key_block = block(keys.key);
    problem.key_rope_block = block(keys.key_rope);
    problem.value_block = block(keys.value);
    problem.query_block = terms.map.query_block;
    problem.map = terms.map.strides;
    problem.has_mask = terms.mask.read;
    problem.mask_row = terms.mask.row;
    problem.has_bias = terms.bias.read;
    problem.bias = terms.bias.strides;
    problem.has_sink = terms.sink;
    problem.writes_lse = terms.writes_lse;
    problem.scale = terms.scale;
    return problem;
}

// Where sequence b begins: in tensors with a batch axis at batch b, in token-packed ones at its first token.
class SequenceStarts {
public:
    SequenceStarts(const CallSizes& sizes, const CallTerms& terms, const RowAddressing& rows, const KeyAddressing& keys)
        : packed_(sizes.packed()), terms_(terms), rows_(rows), keys_(keys) {}

    // Adds the sequence with its offsets only. (It is written in place: copying a struct that was just written in
    // pieces stalls, and so does clearing one at a time.)
    ProblemSequence* AddTo(std::vector<ProblemSequence>* sequences) const {
        sequences->push_back(blank_);
        ProblemSequence* sequence = &sequences->back();
        const int64_t unit = packed_ ? query_token_ : index_;
        const auto row = [&](const Addressing& tensor) { return unit * (packed_ ? tensor.strides.row : tensor.batch); };
        sequence->query = row(rows_.query);
        sequence->query_rope = row(rows_.query_rope);
        sequence->output = row(rows_.output);
        sequence->lse = row(rows_.lse);
        sequence->mask = index_ * terms_.mask.plane;
        sequence->bias = index_ * terms_.bias.set;
        sequence->map = index_ * terms_.map.set;
        SetKeys(sequence);
        return sequence;
    }

    void Advance() {
        query_token_ += terms_.query_lengths[size_t(index_)];
        key_token_ += terms_.key_lengths[size_t(index_)];
        ++index_;
    }

private:
    void SetKeys(ProblemSequence* sequence) const {
        switch (keys_.placement) {
            case KeyPlacement::kDense:
            case KeyPlacement::kSelected: {
                const int64_t unit = packed_ ? key_token_ : index_;
                sequence->key = unit * keys_.key.step;
                sequence->key_rope = unit * keys_.key_rope.step;
                sequence->value = unit * keys_.value.step;
                break;
            }
            case KeyPlacement::kPagedRows:
            case KeyPlacement::kPagedNz:
                sequence->key = sequence->key_rope = sequence->value = index_ * keys_.entries;
                break;
            case KeyPlacement::kList:
                sequence->key_list = index_ * keys_.entries;
                break;
        }
    }

    const bool packed_;
    const CallTerms& terms_;
    const RowAddressing& rows_;
    const KeyAddressing& keys_;
    const ProblemSequence blank_;
    int64_t index_ = 0;
    int64_t query_token_ = 0;
    int64_t key_token_ = 0;
};

// Leaves rows [0, first) out.
void SkipRows(int64_t first, const AttentionProblem& problem, ProblemSequence* sequence) {
    sequence->query += first * problem.query.row;
    sequence->query_rope += first * problem.query_rope.row;
    sequence->output += first * problem.output.row;
    sequence->lse += first * problem.lse.row;
    sequence->mask += first * problem.mask_row;
    sequence->bias += first * problem.bias.row;
}

}  // namespace

// Token counts are clamped first: they may be any 64-bit number, and beyond an open band they mean the same.
Band BandOf(const BandArguments& arguments, int64_t query_length, int64_t key_length) {
    const int64_t pre = std::clamp(arguments.pre_tokens, kBandOpenLow / 2, kBandOpenHigh / 2);
    const int64_t next = std::clamp(arguments.next_tokens, kBandOpenLow / 2, kBandOpenHigh / 2);
    const int64_t diagonal = key_length - query_length;
    Band band;
    switch (arguments.sparse_mode) {
        case 0:
            if (arguments.mask) {  // without a mask the token counts are ignored
                band.low = -pre;
                band.high = next;
            }
            break;
        case 2:
            band.high = 0;
            break;
        case 3:
            band.high = diagonal;
            break;
        case 4:
            band.low = diagonal - pre;
            band.high = diagonal + next;
            break;
        default:
            break;
    }
    return band;
}

MaskPlanes MaskPlanesOf(const OptionalTensor& mask, int64_t sparse_mode, int64_t batch) {
    MaskPlanes planes;
    if (!mask || sparse_mode > 1) {
        return planes;
    }
    const Shape& shape = mask->shape;
    const size_t rank = shape.size();
    planes.read = true;
    planes.row = shape[rank - 1];
    if (rank >= 3 && shape[0] == batch && batch > 1) {
        planes.plane = shape[rank - 2] * shape[rank - 1];
    }
    return planes;
}

BiasPlanes BiasPlanesOf(const OptionalTensor& pse_shift) {
    BiasPlanes planes;
    if (!pse_shift) {
        return planes;
    }
    const Shape& shape = pse_shift->shape;  // (B or 1, N, at least Q_S, at least KV_S)
    planes.read = true;
    planes.strides = {shape[2] * shape[3], shape[3]};
    planes.set = shape[0] > 1 ? shape[1] * shape[2] * shape[3] : 0;
    return planes;
}

BlockMap BlockMapOf(const TensorView& map, int64_t query_block) {
    const Shape& shape = map.shape;
    const int64_t plane = shape[2] * shape[3];
    return {query_block, shape[1] * plane, {plane, shape[3]}};
}

KeyAddressing DenseKeys(const CallSizes& sizes, int64_t rope_dim) {
    const int64_t length = sizes.packed() ? sizes.key_tokens : sizes.key_length;
    const auto part = [&](int64_t dim) -> KeyAddressing::Part {
        const Addressing tensor = AddressingOf(sizes.layout->input, sizes.batch, sizes.key_heads, length, dim);
        return {tensor.strides, sizes.packed() ? tensor.strides.row : tensor.batch};
    };
    KeyAddressing keys;
    keys.key = part(sizes.head_dim);
    keys.key_rope = part(rope_dim);
    keys.value = part(sizes.value_head_dim);
    return keys;
}

AttentionProblem LowerCall(const CallSizes& sizes, const CallTerms& terms, const KeyAddressing& keys) {
    const RowAddressing rows = RowsOf(sizes, terms);
    AttentionProblem problem = ProblemOf(sizes, terms, rows, keys);
    const size_t count = terms.query_lengths.size();
    problem.sequences.reserve(count);
    SequenceStarts starts(sizes, terms, rows, keys);
    for (size_t b = 0; b < count; ++b) {
        const int64_t query_length = terms.query_lengths[b];
        const int64_t key_length = terms.key_lengths[b];
        const int64_t all_rows = sizes.packed() ? query_length : sizes.query_length;
        const int64_t seeing_rows = key_length > 0 ? query_length : 0;
        if (seeing_rows > 0) {
            const Band band = BandOf(terms.band, query_length, key_length);
            ProblemSequence& sequence = *starts.AddTo(&problem.sequences);
            sequence.query_length = seeing_rows;
            sequence.key_length = key_length;
            sequence.band_low = band.low;
            sequence.band_high = band.high;
        }
        if (all_rows > seeing_rows) {
            ProblemSequence& sequence = *starts.AddTo(&problem.sequences);
            SkipRows(seeing_rows, problem, &sequence);
            sequence.query_length = all_rows - seeing_rows;
        }
        starts.Advance();
    }
    return problem;
}

}  // namespace ascend_attention
