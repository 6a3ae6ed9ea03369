// SPDX-License-Identifier: Apache-2.0
// The pre-pass of a launch whose keys are selected: the vector cores turn the map into key lists, each its chunk of
// them. Bytes become bits by a comparison with zero; the scalar unit counts the bits. At the end all cores know that
// all lists are there.
#pragma once

#include "engine/key_lists.h"
#include "engine/plan_reader.h"
#include "engine/vector_buffers.h"
#include "plan/visible_keys.h"

namespace ascend_attention {

constexpr int32_t kMapBytes = 16384;  // of the map, at a time

struct SelectMemory {
    uint8_t map[kMapBytes];
    uint16_t map_as_half[kMapBytes];
    uint64_t bits[kMapBytes / kWordBits];
    int32_t keys[kMapBytes / kListStep];
    uint64_t cost[4];
};

template <typename T, typename Heads>
class SelectStage {
public:
    // `core` counts the vector cores of the launch, `cores` of them.
    __aicore__ inline SelectStage(VectorBuffers<T, Heads>& buffers, const PlanReader& reader, const KeyLists& lists,
                                  const KernelArguments& arguments, uint32_t core, uint32_t cores)
        : buffers_(buffers), reader_(reader), lists_(lists), core_(core), cores_(cores) {
        static_assert(sizeof(SelectMemory) <= sizeof(UbMemory<Heads>::accumulator), "nothing is accumulated yet");
        map_.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(arguments.block_table));
        list_width_ = int32_t(reader.Plan().selected.list_words) * kWordBits;
        width_ = Min(list_width_, kMapBytes);
        parts_ = CeilDiv(list_width_, width_);
        rows_max_ = Max(kMapBytes / list_width_ / 2 * 2, 1);
    }

    __aicore__ inline void Run() {
        const ListChunk chunk = ListChunkOf(reader_.Plan().selected.list_count, core_, cores_);
        int64_t cost = 0;
        SequencePlan sequence = {};
        for (uint32_t list = chunk.begin; list < chunk.end;) {
            reader_.Sequence(reader_.SequenceOfList(list), sequence);
            const int32_t head_lists = ListsOfHead(sequence);
            const uint32_t end = sequence.first_list + uint32_t(head_lists) * reader_.Plan().head_count;
            while (list < chunk.end && list < end) {
                const Rows rows = RowsFrom(sequence, list, chunk.end, head_lists);
                MakeLists(sequence, rows, cost);
                list += uint32_t(rows.count);
            }
        }
        if (chunk.begin < chunk.end) {
            StoreCost(cost);
        }
        AscendC::CrossCoreSetFlag<kAllVectorsMode, PIPE_MTE3>(CrossCoreFlag::kVectorsWaitForLists);
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kVectorsWaitForLists);
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_MTE3>(CrossCoreFlag::kCubeWaitsForLists);
    }

private:
    struct Rows {       // of the map, at a constant distance, and their lists
        uint32_t list;  // the first one
        int32_t count;
        int32_t block;  // of the first one's head
        int32_t head_lists;
        int64_t offset;  // of the first one in the map
    };

    template <typename Type>
    __aicore__ inline AscendC::LocalTensor<Type> Memory(uint32_t offset) {
        return buffers_.Bytes(uint32_t(offsetof(UbMemory<Heads>, accumulator)) + offset)
            .template ReinterpretCast<Type>();
    }

    // As many as fit, up to the end of the head, or of the sequence where the map's heads follow each other.
    __aicore__ inline Rows RowsFrom(const SequencePlan& sequence, uint32_t list, uint32_t list_end,
                                    int32_t head_lists) const {
        const HeadStrides& map = reader_.Plan().selected.map;
        const uint32_t number = list - sequence.first_list;
        const uint32_t head = number / uint32_t(head_lists);
        Rows rows;
        rows.list = list;
        rows.head_lists = head_lists;
        rows.block = int32_t(number - head * uint32_t(head_lists));
        rows.offset = sequence.map + int64_t(head) * map.head + int64_t(rows.block) * map.row;
        const bool heads_follow = map.head == map.row * head_lists;
        const uint32_t left = heads_follow ? reader_.Plan().head_count * uint32_t(head_lists) - number
                                           : uint32_t(head_lists - rows.block);
        const uint32_t wanted = list_end - list < left ? list_end - list : left;
        rows.count = wanted < uint32_t(rows_max_) ? int32_t(wanted) : rows_max_;
        return rows;
    }

    __aicore__ inline void MakeLists(const SequencePlan& sequence, const Rows& rows, int64_t& cost) {
        const int32_t blocks = CeilDiv(sequence.key_length, int32_t(reader_.Plan().block_size));
        const AscendC::LocalTensor<int32_t> keys = Memory<int32_t>(offsetof(SelectMemory, keys));
        for (int32_t part = 0; part < parts_; ++part) {
            const int32_t column = part * width_;
            LoadBits(rows, column, Clamp(blocks - column, 0, width_));
            for (int32_t row = 0; row < rows.count; ++row) {
                const int32_t before = part == 0 ? 0 : keys.GetValue(uint32_t(row));
                keys.SetValue(uint32_t(row), before + CountKeys(sequence, rows, row, blocks, column));
            }
            AscendC::PipeBarrier<PIPE_ALL>();
            const uint64_t word = uint64_t(rows.list) * reader_.Plan().selected.list_words + column / kWordBits;
            const int32_t stored = rows.count * Min(width_, list_width_ - column);  // the last part may be a short one
            const AscendC::DataCopyExtParams params(1, uint32_t(stored / 8), 0, 0, 0);
            AscendC::DataCopyPad(lists_.BitsAt(word), Memory<uint64_t>(offsetof(SelectMemory, bits)), params);
        }
        for (int32_t row = 0; row < rows.count; ++row) {
            const int32_t tiles = TilesOfBlock(sequence, (rows.block + row) % rows.head_lists);
            cost += int64_t(tiles) * CostOfTile(keys.GetValue(uint32_t(row)) & (kSameList - 1));
        }
        AscendC::DataCopyPad(lists_.KeysAt(rows.list), keys,
                             AscendC::DataCopyExtParams(1, uint32_t(rows.count * int32_t(sizeof(int32_t))), 0, 0, 0));
    }

    // `columns` columns of the map from `column`; those up to the width of a list are not seen.
    __aicore__ inline void LoadBits(const Rows& rows, int32_t column, int32_t columns) {
        const AscendC::LocalTensor<int8_t> map = Memory<int8_t>(offsetof(SelectMemory, map));
        const AscendC::LocalTensor<half> halves = Memory<half>(offsetof(SelectMemory, map_as_half));
        const int32_t elements = rows.count * width_;
        AscendC::Duplicate(map.template ReinterpretCast<int16_t>(), int16_t(0), elements / 2);
        AscendC::PipeBarrier<PIPE_ALL>();
        if (columns > 0) {
            constexpr int32_t kBlock = 32;
            const int32_t padded = RoundUp(columns, kBlock);
            const AscendC::DataCopyPadExtParams<int8_t> padding(true, 0, uint8_t(padded - columns), 0);
            const AscendC::DataCopyExtParams params(uint16_t(rows.count), uint32_t(columns),
                                                    uint32_t(reader_.Plan().selected.map.row - columns),
                                                    uint32_t((width_ - padded) / kBlock), 0);
            AscendC::DataCopyPad(map, map_[rows.offset + column], params, padding);
        }
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::Cast(halves, map, AscendC::RoundMode::CAST_NONE, uint32_t(elements));
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::CompareScalar(Memory<uint8_t>(offsetof(SelectMemory, bits)), halves, half(0), AscendC::CMPMODE::NE,
                               uint64_t(kHalfsPerRepeat), uint8_t(elements / kHalfsPerRepeat),
                               AscendC::UnaryRepeatParams(1, 1, 8, 8));
        AscendC::PipeBarrier<PIPE_ALL>();
    }

    // Keys that row `row` selects in this part of its list. The last block may be a short one.
    __aicore__ inline int32_t CountKeys(const SequencePlan& sequence, const Rows& rows, int32_t row, int32_t blocks,
                                        int32_t column) {
        const AscendC::LocalTensor<uint64_t> bits = Memory<uint64_t>(offsetof(SelectMemory, bits));
        const int32_t words = width_ / kWordBits;
        const int32_t block = (rows.block + row) % rows.head_lists;
        // The row tiles before and after this block's begin are a pair when the first one has an even number.
        const bool pairs = row > 0 && parts_ == 1 && block > 0 && TilesOfWholeBlock(sequence) * block % 2 == 1;
        const int32_t last = blocks - 1 - column;
        int32_t selected = 0;
        int32_t missing = 0;
        bool same = pairs;
        for (int32_t i = 0; i < words; ++i) {
            const uint64_t word = bits.GetValue(uint32_t(row * words + i));
            selected += int32_t(AscendC::ScalarGetCountOfValue<1>(word));
            same = same && word == bits.GetValue(uint32_t((row - 1) * words + i));
            if (last >= 0 && last / kWordBits == i && (word >> (last % kWordBits) & 1) != 0) {
                missing = blocks * int32_t(reader_.Plan().block_size) - sequence.key_length;
            }
        }
        return selected * int32_t(reader_.Plan().block_size) - missing + (same ? kSameList : 0);
    }

    __aicore__ inline void StoreCost(int64_t cost) {
        const AscendC::LocalTensor<uint64_t> store = Memory<uint64_t>(offsetof(SelectMemory, cost));
        store.SetValue(0, uint64_t(cost));
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopyPad(lists_.CostAt(core_), store,
                             AscendC::DataCopyExtParams(1, uint32_t(sizeof(uint64_t)), 0, 0, 0));
    }

    VectorBuffers<T, Heads>& buffers_;
    const PlanReader& reader_;
    const KeyLists& lists_;
    uint32_t core_;
    uint32_t cores_;
    int32_t list_width_;  // bits of a list
    int32_t width_;       // of these, made at a time
    int32_t parts_;       // of a list: more than one only where a row of the map does not fit
    int32_t rows_max_;    // of the map at a time, even or 1
    AscendC::GlobalTensor<int8_t> map_;
};

}  // namespace ascend_attention
