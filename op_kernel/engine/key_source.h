// SPDX-License-Identifier: Apache-2.0
// How Q, K and V come to L1. Where the keys of a sequence lie is one runtime branch, the same for K, its rope part and
// V.
#pragma once

#include "engine/tile_walk.h"
#include "parts/operand_copy.h"

namespace ascend_attention {

template <typename T>
class KeySource {
public:
    // `memory`: the tensor, or the list of tensors when `placement` says so. `block`: elements between two blocks.
    // `block_table`: where it says which block comes when, see BlocksOf.
    __aicore__ inline KeySource(const AttentionPlan& plan, KeyPlacement placement, GM_ADDR memory, GM_ADDR block_table,
                                const HeadStrides& strides, int64_t block)
        : placement_(placement),
          block_size_(int32_t(plan.block_size)),
          strides_(strides),
          block_(block),
          table_(block_table),
          selection_(plan, block_table),
          list_(memory) {
        memory_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(memory));
    }

    // To the keys of a task. `sequence_offset`: of the sequence's first key where keys are dense.
    __aicore__ inline void MoveTo(const KeyTile& tile, int64_t sequence_offset) {
        head_ = int64_t(tile.key_head) * strides_.head;
        first_entry_ = tile.sequence.key;
        if (placement_ == KeyPlacement::kDense) {
            head_ += sequence_offset;
        } else if (placement_ == KeyPlacement::kSelected) {
            head_ += sequence_offset;
            selection_.MoveTo(tile.list);
        } else if (placement_ == KeyPlacement::kList) {
            GM_ADDR address = list_.Address(tile.sequence.key_list + int64_t(tile.key_head));
            memory_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
            head_ = 0;
        }
    }

    // Whether what is read next is not read again: then it need not take a place in L2, nor its bandwidth.
    __aicore__ inline void ReadOnce(bool once) {
        memory_.SetL2CacheHint(once ? AscendC::CacheMode::CACHE_MODE_DISABLE : AscendC::CacheMode::CACHE_MODE_NORMAL);
    }

    // Copies `columns` channels from `channel` of the keys [key, key + keys) to a tile in NZ form whose strips have
    // `tile_rows` rows. Of a paged cache each run of keys in one block is one instruction.
    __aicore__ inline void Copy(const AscendC::LocalTensor<T>& tile, int32_t tile_rows, int32_t key, int32_t keys,
                                int32_t channel, int32_t columns) {
        if (placement_ == KeyPlacement::kSelected) {
            CopySelected(tile, tile_rows, key, keys, channel, columns);
            return;
        }
        if (!IsPaged(placement_)) {
            const RowRun run{head_ + int64_t(key) * strides_.row + channel, strides_.row, keys};
            CopyRunToNz(tile, tile_rows, 0, memory_, run, columns);
            return;
        }
        for (int32_t done = 0; done < keys;) {
            const int32_t entry = (key + done) / block_size_;
            const int32_t position = key + done - entry * block_size_;
            const int32_t count = Min(keys - done, block_size_ - position);
            const int64_t block = table_.Block(first_entry_ + entry) * block_ + head_;
            if (placement_ == KeyPlacement::kPagedNz) {
                const int64_t strip = block + int64_t(channel) * block_size_;
                CopyStripsToNz(tile, tile_rows, done, memory_, strip + int64_t(position) * kFractal, block_size_, count,
                               columns);
            } else {
                const RowRun run{block + int64_t(position) * strides_.row + channel, strides_.row, count};
                CopyRunToNz(tile, tile_rows, done, memory_, run, columns);
            }
            done += count;
        }
    }

private:
    // Blocks that follow each other in memory are one instruction.
    __aicore__ inline void CopySelected(const AscendC::LocalTensor<T>& tile, int32_t tile_rows, int32_t key,
                                        int32_t keys, int32_t channel, int32_t columns) {
        for (int32_t done = 0; done < keys;) {
            int32_t entry = (key + done) / block_size_;
            const int32_t position = key + done - entry * block_size_;
            const int32_t block = selection_.Block(entry);
            int32_t count = Min(keys - done, block_size_ - position);
            for (int32_t next = block + 1; count < keys - done && selection_.Block(++entry) == next; ++next) {
                count = Min(keys - done, count + block_size_);
            }
            const RowRun run{head_ + int64_t(block) * block_ + int64_t(position) * strides_.row + channel, strides_.row,
                             count};
            CopyRunToNz(tile, tile_rows, done, memory_, run, columns);
            done += count;
        }
    }

    KeyPlacement placement_;
    int32_t block_size_;
    HeadStrides strides_;
    int64_t block_;
    BlockTable table_;
    SelectedBlocks selection_;
    AddressList list_;
    AscendC::GlobalTensor<T> memory_;
    int64_t head_ = 0;         // element offset of the key head in the tensor, or in each block
    int64_t first_entry_ = 0;  // of block_table
};

// What says which block of keys comes when: block_table, or the key lists.
__aicore__ inline GM_ADDR BlocksOf(const AttentionPlan& plan, const KernelArguments& arguments) {
    return plan.key_placement == KeyPlacement::kSelected ? KeyLists::Address(plan, arguments) : arguments.block_table;
}

// The rope part of keys is one tensor also where K and V are lists.
__aicore__ inline KeyPlacement RopePlacement(const AttentionPlan& plan) {
    return plan.key_placement == KeyPlacement::kList ? KeyPlacement::kDense : plan.key_placement;
}

// All rows of a row tile, `columns` channels of `source`, to the channels from `channel` of its query tile.
template <typename T>
__aicore__ inline void LoadQueryPart(const AttentionPlan& plan, const KeyTile& tile, const RowTile& rows,
                                     const AscendC::LocalTensor<T>& query, int32_t channel,
                                     const AscendC::GlobalTensor<T>& source, const HeadStrides& strides,
                                     int64_t sequence_offset, int32_t columns) {
    const RowMap map(plan, tile.sequence, strides, sequence_offset, tile.head);
    const int32_t tile_rows = RoundUp(rows.rows, kFractal);
    const AscendC::LocalTensor<T> target = query[channel * tile_rows];
    for (int32_t row = 0; row < rows.rows;) {
        const RowRun run = map.RunAt(rows.row_begin + row, rows.rows - row);
        CopyLeftRunToNz(target, tile_rows, rows.rows, row, source, run, columns);
        row += run.count;
    }
}

}  // namespace ascend_attention
