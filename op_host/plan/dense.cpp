// SPDX-License-Identifier: Apache-2.0
#include "plan/dense.h"

#include <algorithm>

namespace ascend_attention {
namespace {

// A layout is an addressing rule: strides of one batch, and elements from one batch to the next.
struct Addressing {
    HeadStrides strides;
    int64_t batch;
};

Addressing AddressingOf(AxisOrder order, int64_t heads, int64_t length, int64_t dim) {
    const int64_t batch = heads * length * dim;
    if (order == AxisOrder::kBNSD) {
        return {{length * dim, dim}, batch};
    }
    return {{dim, heads * dim}, batch};  // BSH and BSND are the same memory
}

struct MaskAddressing {
    int64_t batch = 0;  // elements between the masks of two batches; 0 when all share one
    int64_t row = 0;
};

MaskAddressing MaskOf(const Shape& shape, int64_t batch) {
    const size_t rank = shape.size();
    MaskAddressing mask;
    mask.row = shape[rank - 1];
    if (rank >= 3 && shape[0] == batch && batch > 1) {
        mask.batch = shape[rank - 2] * shape[rank - 1];
    }
    return mask;
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

AttentionProblem LowerDense(const DenseCall& call) {
    const Addressing query = AddressingOf(call.layout->input, call.query_heads, call.query_length, call.head_dim);
    const Addressing key = AddressingOf(call.layout->input, call.key_heads, call.key_length, call.head_dim);
    const Addressing value = AddressingOf(call.layout->input, call.key_heads, call.key_length, call.value_head_dim);
    const Addressing output =
        AddressingOf(call.layout->output, call.query_heads, call.query_length, call.value_head_dim);
    const Addressing lse = AddressingOf(AxisOrder::kBNSD, call.query_heads, call.query_length, 1);
    const bool reads_mask = ReadsMask(call.mask, call.tokens.sparse_mode);
    const MaskAddressing mask = reads_mask ? MaskOf(call.mask->shape, call.batch) : MaskAddressing{};

    AttentionProblem problem;
    problem.op = call.op;
    problem.dtype = call.dtype;
    problem.query_heads = call.query_heads;
    problem.key_heads = call.key_heads;
    problem.head_dim = call.head_dim;
    problem.value_head_dim = call.value_head_dim;
    problem.query = query.strides;
    problem.key = key.strides;
    problem.value = value.strides;
    problem.output = output.strides;
    problem.lse = lse.strides;
    problem.fold_order = call.layout->input == AxisOrder::kBNSD ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
    problem.has_mask = reads_mask;
    problem.mask_row = mask.row;
    problem.writes_lse = call.writes_lse;
    problem.scale = call.scale;

    for (int64_t b = 0; b < call.batch; ++b) {
        const auto add = [&](int64_t first_row, int64_t rows, int64_t keys, const Band& band) {
            if (rows == 0) {
                return;
            }
            problem.sequences.push_back({query.batch * b + first_row * query.strides.row, key.batch * b,
                                         value.batch * b, output.batch * b + first_row * output.strides.row,
                                         lse.batch * b + first_row * lse.strides.row,
                                         mask.batch * b + first_row * mask.row, rows, keys, band.low, band.high});
        };
        const int64_t rows = call.query_lengths[size_t(b)];
        const int64_t keys = call.key_lengths[size_t(b)];
        if (keys == 0) {
            add(0, call.query_length, 0, Band());
            continue;
        }
        add(0, rows, keys, BandOf(call.tokens, rows, keys));
        add(rows, call.query_length - rows, 0, Band());
    }
    return problem;
}

}  // namespace ascend_attention
