// SPDX-License-Identifier: Apache-2.0
// Which keys a tile of query rows can see. One formula for both sides: the host balances the cores with it, the device
// skips hidden key tiles with it, so the two cannot disagree. On the device include kernel_operator.h first: it
// defines __aicore__.
#pragma once

#include "plan/attention_plan.h"

#ifndef __aicore__
#define __aicore__
#endif

namespace ascend_attention {

// Query positions first..last, both inclusive.
struct PositionSpan {
    int32_t first;
    int32_t last;
};

// Keys [first, last); empty when first == last.
struct KeySpan {
    int32_t first;
    int32_t last;
};

// A band end beyond this is no limit at all: positions and key lengths stay below 2^26, so p + band stays far inside
// 32 bits and still lands outside [0, key_length).
constexpr int32_t kBandLimit = int32_t(1) << 28;
// Limit of query_length and key_length that the 32-bit sums rely on (documents: 20 971 520).
constexpr int32_t kSequenceLengthMax = int32_t(1) << 26;

// Query positions of the rows [first_row, first_row + rows) of one head (or of one folded group). rows >= 1.
__aicore__ inline PositionSpan PositionsOfRows(const SequencePlan& sequence, uint32_t group_fold, RowOrder order,
                                               int32_t first_row, int32_t rows) {
    const int32_t last_row = first_row + rows - 1;
    PositionSpan span;
    if (group_fold <= 1) {
        span.first = first_row;
        span.last = last_row;
    } else if (order == RowOrder::kTokenMajor) {
        span.first = first_row / int32_t(group_fold);
        span.last = last_row / int32_t(group_fold);
    } else if (first_row / sequence.query_length == last_row / sequence.query_length) {
        span.first = first_row % sequence.query_length;
        span.last = last_row % sequence.query_length;
    } else {  // the rows run over the end of one head into the next: the hull is every position
        span.first = 0;
        span.last = sequence.query_length - 1;
    }
    return span;
}

// Smallest key range that holds every key visible from the positions of `span`.
__aicore__ inline KeySpan KeysOfPositions(const SequencePlan& sequence, PositionSpan span) {
    KeySpan keys;
    keys.first = 0;
    keys.last = 0;
    if (sequence.band_low > sequence.band_high) {
        return keys;
    }
    const int32_t first = span.first + sequence.band_low;
    const int32_t last = span.last + sequence.band_high + 1;
    const int32_t length = sequence.key_length;
    keys.first = first < 0 ? 0 : (first > length ? length : first);
    keys.last = last < 0 ? 0 : (last > length ? length : last);
    return keys;
}

// Keys visible from the rows [first_row, first_row + rows).
__aicore__ inline KeySpan VisibleKeys(const SequencePlan& sequence, uint32_t group_fold, RowOrder order,
                                      int32_t first_row, int32_t rows) {
    return KeysOfPositions(sequence, PositionsOfRows(sequence, group_fold, order, first_row, rows));
}

// Rows of tile `tile`: the last one of a head may be shorter.
__aicore__ inline int32_t RowsOfTile(const SequencePlan& sequence, uint32_t group_fold, int32_t tile) {
    const int32_t left = sequence.query_length * int32_t(group_fold) - tile * sequence.tile_rows;
    return left < sequence.tile_rows ? left : sequence.tile_rows;
}

// The same where keys are selected: row tiles begin anew with each block of rows that share a list.
struct SelectedRows {
    int32_t block;  // of the head
    int32_t begin;  // row of the head
    int32_t count;
};

// All blocks of a head but the last, which may be a shorter one, have as many tiles.
__aicore__ inline int32_t TilesOfWholeBlock(const SequencePlan& sequence) {
    return (sequence.block_rows + sequence.tile_rows - 1) / sequence.tile_rows;
}

__aicore__ inline int32_t TilesOfBlock(const SequencePlan& sequence, int32_t block) {
    const int32_t left = sequence.query_length - block * sequence.block_rows;
    return ((left < sequence.block_rows ? left : sequence.block_rows) + sequence.tile_rows - 1) / sequence.tile_rows;
}

__aicore__ inline SelectedRows SelectedRowsOfTile(const SequencePlan& sequence, int32_t tile) {
    const int32_t per_block = TilesOfWholeBlock(sequence);
    SelectedRows rows;
    rows.block = tile / per_block;
    const int32_t in_block = tile % per_block * sequence.tile_rows;
    rows.begin = rows.block * sequence.block_rows + in_block;
    rows.count = sequence.tile_rows;
    if (rows.count > sequence.block_rows - in_block) {
        rows.count = sequence.block_rows - in_block;
    }
    if (rows.count > sequence.query_length - rows.begin) {
        rows.count = sequence.query_length - rows.begin;
    }
    return rows;
}

// Blocks of rows of a head, each with a list of its own.
__aicore__ inline int32_t ListsOfHead(const SequencePlan& sequence) {
    return (sequence.query_length + sequence.block_rows - 1) / sequence.block_rows;
}

}  // namespace ascend_attention
