// SPDX-License-Identifier: Apache-2.0
// Key lists in the workspace: which blocks of keys the rows of a block of queries see, see SelectedKeys. Written once
// by the vector cores before any core's work begins, then read by all through the scalar unit's data cache.
#pragma once

#include "engine/arithmetic.h"
#include "engine/kernel_arguments.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

class KeyLists {
public:
    __aicore__ inline KeyLists(const AttentionPlan& plan, const KernelArguments& arguments) {
        const uint64_t count = plan.selected.list_count;
        const uint64_t words = plan.selected.list_words;
        GM_ADDR lists = Address(plan, arguments);
        bits_.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(lists));
        keys_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(lists + ListKeysBegin(count, words)));
        costs_.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(lists + ListCostsBegin(count, words)));
    }

    __aicore__ inline static GM_ADDR Address(const AttentionPlan& plan, const KernelArguments& arguments) {
        return arguments.workspace + plan.selected.workspace_lists;
    }

    __aicore__ inline int32_t Keys(uint32_t list) const { return keys_.GetValue(list) & (kSameList - 1); }
    __aicore__ inline bool SameAsBefore(uint32_t list) const { return (keys_.GetValue(list) & kSameList) != 0; }
    __aicore__ inline int64_t Cost(uint32_t chunk) const { return int64_t(costs_.GetValue(chunk)); }

    // For those who write them.
    __aicore__ inline AscendC::GlobalTensor<uint64_t> BitsAt(uint64_t word) const { return bits_[word]; }
    __aicore__ inline AscendC::GlobalTensor<int32_t> KeysAt(uint32_t list) const { return keys_[list]; }
    __aicore__ inline AscendC::GlobalTensor<uint64_t> CostAt(uint32_t chunk) const { return costs_[chunk]; }

private:
    AscendC::GlobalTensor<uint64_t> bits_;
    AscendC::GlobalTensor<int32_t> keys_;
    AscendC::GlobalTensor<uint64_t> costs_;
};

// The lists that one of `cores` vector cores makes: neighbours, an even number. So pairs of blocks that may share loads
// stay together where heads have an even number of lists; elsewhere some are parted, and then load each for itself.
struct ListChunk {
    uint32_t begin;
    uint32_t end;
};
__aicore__ inline uint64_t ListChunkSize(uint32_t lists, uint32_t cores) {
    const uint64_t share = (uint64_t(lists) + cores - 1) / cores;
    return (share + 1) / 2 * 2;
}
// How many of the vector cores make any.
__aicore__ inline uint32_t ListChunks(uint32_t lists, uint32_t cores) {
    const uint64_t size = ListChunkSize(lists, cores);
    return uint32_t((lists + size - 1) / size);
}
__aicore__ inline ListChunk ListChunkOf(uint32_t lists, uint32_t core, uint32_t cores) {
    const uint64_t size = ListChunkSize(lists, cores);
    const uint64_t begin = size * core;
    ListChunk chunk;
    chunk.begin = begin < lists ? uint32_t(begin) : lists;
    chunk.end = begin + size < lists ? uint32_t(begin + size) : lists;
    return chunk;
}

// Cost of the row tiles of one list.
__aicore__ inline int64_t CostOfTile(int32_t keys) { return keys == 0 ? kEmptyTileCost : kTileFixedCost + keys; }

// The blocks of a list, in turn: entries are asked for in an order that never goes back within a task.
class SelectedBlocks {
public:
    __aicore__ inline SelectedBlocks(const AttentionPlan& plan, GM_ADDR lists) : words_(plan.selected.list_words) {
        bits_.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(lists));
    }

    __aicore__ inline void MoveTo(uint32_t list) {
        begin_ = uint64_t(list) * words_;
        Restart();
    }

    // Which block of the sequence entry `entry` of the list is; the list has as many entries.
    __aicore__ inline int32_t Block(int32_t entry) {
        if (entry < entry_) {  // values of more than 128 channels go through a key tile more than once
            Restart();
        }
        while (entry_ < entry) {
            while (left_ == 0) {
                left_ = bits_.GetValue(begin_ + uint64_t(next_word_++));
            }
            block_ = (next_word_ - 1) * kWordBits + int32_t(AscendC::ScalarGetSFFValue<1>(left_));
            left_ &= left_ - 1;
            ++entry_;
        }
        return block_;
    }

private:
    __aicore__ inline void Restart() {
        left_ = 0;
        next_word_ = 0;
        entry_ = -1;
    }

    AscendC::GlobalTensor<uint64_t> bits_;
    uint32_t words_;
    uint64_t begin_ = 0;  // first word of the list
    uint64_t left_ = 0;   // bits of the current word behind the current entry
    int32_t next_word_ = 0;
    int32_t entry_ = -1;
    int32_t block_ = 0;
};

}  // namespace ascend_attention
