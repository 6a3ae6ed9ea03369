// SPDX-License-Identifier: Apache-2.0
#include "fused_infer_attention_score_v2/lower.h"

#include <algorithm>

namespace ascend_attention::fia_v2 {
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
Band BandOf(const Request& request, int64_t query_length, int64_t key_length) {
    const int64_t pre = std::clamp(request.pre_tokens, kBandOpenLow / 2, kBandOpenHigh / 2);
    const int64_t next = std::clamp(request.next_tokens, kBandOpenLow / 2, kBandOpenHigh / 2);
    const int64_t diagonal = key_length - query_length;
    Band band;
    switch (request.sparse_mode) {
        case 0:
            if (request.atten_mask) {  // without a mask the token counts are ignored
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

bool ReadsMask(const Scene& scene) { return scene.request.atten_mask && scene.request.sparse_mode <= 1; }

AttentionProblem Lower(const Scene& scene) {
    const Request& request = scene.request;
    const int64_t dim = scene.head_dim;
    const Addressing query = AddressingOf(scene.layout->input, scene.query_heads, scene.query_length, dim);
    const Addressing key = AddressingOf(scene.layout->input, scene.key_heads, scene.key_length, dim);
    const Addressing value = AddressingOf(scene.layout->input, scene.key_heads, scene.key_length, scene.value_head_dim);
    const Addressing output =
        AddressingOf(scene.layout->output, scene.query_heads, scene.query_length, scene.value_head_dim);
    const Addressing lse = AddressingOf(AxisOrder::kBNSD, scene.query_heads, scene.query_length, 1);
    const MaskAddressing mask = ReadsMask(scene) ? MaskOf(request.atten_mask->shape, scene.batch) : MaskAddressing{};

    AttentionProblem problem;
    problem.op = kFusedInferAttentionScoreV2;
    problem.dtype = request.query->dtype;
    problem.query_heads = scene.query_heads;
    problem.key_heads = scene.key_heads;
    problem.head_dim = dim;
    problem.value_head_dim = scene.value_head_dim;
    problem.query = query.strides;
    problem.key = key.strides;
    problem.value = value.strides;
    problem.output = output.strides;
    problem.lse = lse.strides;
    problem.fold_order = scene.layout->input == AxisOrder::kBNSD ? RowOrder::kHeadMajor : RowOrder::kTokenMajor;
    problem.has_mask = ReadsMask(scene);
    problem.mask_row = mask.row;
    problem.writes_lse = request.return_softmax_lse;
    problem.scale = request.softmax_scale;

    const std::vector<int64_t> query_lengths = QueryLengths(scene);
    const std::vector<int64_t> key_lengths = KeyLengths(scene);
    for (int64_t b = 0; b < scene.batch; ++b) {
        const auto add = [&](int64_t first_row, int64_t rows, int64_t keys, const Band& band) {
            if (rows == 0) {
                return;
            }
            problem.sequences.push_back({query.batch * b + first_row * query.strides.row, key.batch * b,
                                         value.batch * b, output.batch * b + first_row * output.strides.row,
                                         lse.batch * b + first_row * lse.strides.row,
                                         mask.batch * b + first_row * mask.row, rows, keys, band.low, band.high});
        };
        const int64_t rows = query_lengths[size_t(b)];
        const int64_t keys = key_lengths[size_t(b)];
        if (keys == 0) {
            add(0, scene.query_length, 0, Band());
            continue;
        }
        add(0, rows, keys, BandOf(request, rows, keys));
        add(rows, scene.query_length - rows, 0, Band());
    }
    return problem;
}

}  // namespace ascend_attention::fia_v2
