// SPDX-License-Identifier: Apache-2.0
#include "plan/lowering.h"

#include <algorithm>
#include <new>

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

// Where sequences begin: in tensors with a batch axis a step for each sequence before, in token-packed ones a step for
// each token before.
class SequenceStarts {
public:
    SequenceStarts(const CallSizes& sizes, const CallTerms& terms, const RowAddressing& rows, const KeyAddressing& keys)
        : rows_packed_(sizes.packed()) {
        const auto row = [&](const Addressing& tensor) { return rows_packed_ ? tensor.strides.row : tensor.batch; };
        step_.query = row(rows.query);
        step_.query_rope = row(rows.query_rope);
        step_.output = row(rows.output);
        step_.lse = row(rows.lse);
        step_.mask = terms.mask.plane;
        step_.bias = terms.bias.set;
        step_.map = terms.map.set;
        switch (keys.placement) {
            case KeyPlacement::kDense:
            case KeyPlacement::kSelected:
                step_.key = keys.key.step;
                step_.key_rope = keys.key_rope.step;
                step_.value = keys.value.step;
                keys_packed_ = rows_packed_;
                break;
            case KeyPlacement::kPagedRows:
            case KeyPlacement::kPagedNz:
                step_.key = step_.key_rope = step_.value = keys.entries;
                break;
            case KeyPlacement::kList:
                step_.key_list = keys.entries;
                break;
        }
    }

    SequenceOffsets offsets() const { return {step_, row_, key_, index_}; }

    void Advance(int64_t query_length, int64_t key_length) {
        row_ += rows_packed_ ? query_length : 1;
        key_ += keys_packed_ ? key_length : 1;
        ++index_;
    }

private:
    const bool rows_packed_;
    bool keys_packed_ = false;
    SequenceOffsets step_;
    int64_t index_ = 0;
    int64_t row_ = 0;  // sequences before, or tokens
    int64_t key_ = 0;
};

// How many rows and keys sequence b has.
class SequenceRows {
public:
    SequenceRows(const CallSizes& sizes, const CallTerms& terms)
        : queries_(terms.query_lengths.data()),
          keys_(terms.key_lengths.data()),
          count_(terms.query_lengths.size()),
          padded_(sizes.packed() ? 0 : sizes.query_length) {}

    size_t count() const { return count_; }
    int64_t Queries(size_t b) const { return queries_[b]; }
    int64_t Keys(size_t b) const { return keys_[b]; }
    // Rows with keys to see, and those with padding.
    int64_t Seeing(size_t b) const { return keys_[b] > 0 ? queries_[b] : 0; }
    int64_t All(size_t b) const { return std::max(queries_[b], padded_); }

    // Of the problem, at most: a sequence is two where some of its rows have keys to see and others have not.
    size_t SequencesAtMost() const { return padded_ > 1 ? 2 * count_ : count_; }

private:
    const int64_t* queries_;
    const int64_t* keys_;
    size_t count_;
    int64_t padded_;  // rows of each sequence in tensors with a batch axis
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

// The bands of all sequences of a call: their ends follow the diagonal, or lie still.
class BandRule {
public:
    // Token counts are clamped first: they may be any 64-bit number, and beyond an open band they mean the same.
    explicit BandRule(const BandArguments& arguments) {
        const int64_t pre = std::clamp(arguments.pre_tokens, kBandOpenLow / 2, kBandOpenHigh / 2);
        const int64_t next = std::clamp(arguments.next_tokens, kBandOpenLow / 2, kBandOpenHigh / 2);
        switch (arguments.sparse_mode) {
            case 0:
                if (arguments.mask) {  // without a mask the token counts are ignored
                    ends_ = {-pre, next};
                }
                break;
            case 2:
                ends_.high = 0;
                break;
            case 3:
                ends_.high = 0;
                high_follows_ = 1;
                break;
            case 4:
                ends_ = {-pre, next};
                low_follows_ = high_follows_ = 1;
                break;
            default:
                break;
        }
    }

    Band Of(int64_t query_length, int64_t key_length) const {
        const int64_t diagonal = key_length - query_length;
        return {ends_.low + low_follows_ * diagonal, ends_.high + high_follows_ * diagonal};
    }

private:
    Band ends_;
    int64_t low_follows_ = 0;  // 1: with the diagonal
    int64_t high_follows_ = 0;
};

}  // namespace

Band BandOf(const BandArguments& arguments, int64_t query_length, int64_t key_length) {
    return BandRule(arguments).Of(query_length, key_length);
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
    const SequenceRows given(sizes, terms);
    problem.sequences.resize(given.SequencesAtMost());
    ProblemSequence* next = problem.sequences.data();
    SequenceStarts starts(sizes, terms, rows, keys);
    const BandRule bands(terms.band);
    for (size_t b = 0; b < given.count(); ++b) {
        const int64_t seeing = given.Seeing(b);
        const int64_t blind = given.All(b) - seeing;
        const int64_t key_length = given.Keys(b);
        if (seeing > 0) {
            const Band band = bands.Of(seeing, key_length);
            new (next++) ProblemSequence(starts.offsets(), seeing, key_length, band.low, band.high);
        }
        if (blind > 0) {
            SkipRows(seeing, problem, new (next++) ProblemSequence(starts.offsets(), blind, 0));
        }
        starts.Advance(given.Queries(b), key_length);
    }
    problem.sequences.resize(size_t(next - problem.sequences.data()));
    return problem;
}

}  // namespace ascend_attention
