// SPDX-License-Identifier: Apache-2.0
// What the cube core has in L1, and the loads that bring it there. K and V come in granules, each fetched as soon as
// the buffer that it goes to is free, whatever step the cube is at: the walks below run ahead of the steps. Q comes
// with the first K of its task. P comes piece by piece.
#pragma once

#include "engine/key_source.h"
#include "engine/memory.h"

namespace ascend_attention {

template <typename T>
class CubeLoads {
public:
    using Heads = NarrowHeads;

    __aicore__ inline CubeLoads(AscendC::TPipe& pipe, const PlanReader& reader, const KernelArguments& arguments,
                                const KeyTileWalk& walk, GM_ADDR rings)
        : plan_(reader.Plan()),
          key_size_(KeySizeOf(plan_)),
          query_channels_(int32_t(plan_.head_dim - plan_.rope_dim)),
          key_walk_(walk, key_size_, 1),
          value_walk_(walk, kValueSize, CeilDiv(int32_t(plan_.value_head_dim), kCubeStep)),
          key_(plan_, plan_.key_placement, arguments.key, BlocksOf(plan_, arguments), plan_.key, plan_.key_block),
          key_rope_(plan_, RopePlacement(plan_), arguments.key_rope, BlocksOf(plan_, arguments), plan_.key_rope,
                    plan_.key_rope_block),
          value_(plan_, plan_.key_placement, arguments.value, BlocksOf(plan_, arguments), plan_.value,
                 plan_.value_block) {
        pipe.InitBuffer(l1_, sizeof(L1Memory));
        query_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.query));
        query_rope_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.query_rope));
        probs_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rings + offsetof(CoreWorkspace<Heads>, probs)));
        keys_left_ = key_walk_.Next();
        values_left_ = value_walk_.Next();
        for (int32_t i = 0; i < kGranuleBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kKeys + i);
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kValues + i);
        }
        for (int32_t i = 0; i < kProbBuffers; ++i) {
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kProbs + i);
        }
    }

    // Set and wait must pair: takes back the "free" events.
    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < kGranuleBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kKeys + i);
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kValues + i);
        }
        for (int32_t i = 0; i < kProbBuffers; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kProbs + i);
        }
    }

    // Issues every load of K for which a buffer has been freed.
    __aicore__ inline void PrefetchKeys() {
        while (keys_left_ && keys_loaded_ < keys_freed_ + kGranuleBuffers) {
            const int32_t buffer = keys_loaded_++ % kGranuleBuffers;
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kKeys + buffer);
            const KeyTile& tile = key_walk_.Tile();
            if (key_walk_.StartsTask()) {
                LoadQueries(tile);
                key_.MoveTo(tile, tile.sequence.key);
                key_rope_.MoveTo(tile, tile.sequence.key_rope);
            }
            const Granule& granule = key_walk_.Part();
            const int32_t keys = granule.end - granule.begin;
            const int32_t strip = RoundUp(keys, kFractal);
            key_.Copy(Keys(buffer), strip, granule.begin, keys, 0, query_channels_);
            if (plan_.rope_dim > 0) {
                key_rope_.Copy(Keys(buffer)[query_channels_ * strip], strip, granule.begin, keys, 0,
                               int32_t(plan_.rope_dim));
            }
            AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kKeys + buffer);
            keys_left_ = key_walk_.Next();
        }
    }

    // The same for V.
    __aicore__ inline void PrefetchValues() {
        while (values_left_ && values_loaded_ < values_freed_ + kGranuleBuffers) {
            const int32_t buffer = values_loaded_++ % kGranuleBuffers;
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kValues + buffer);
            const KeyTile& tile = value_walk_.Tile();
            if (value_walk_.StartsTask()) {
                value_.MoveTo(tile, tile.sequence.value);
            }
            const int32_t channel = value_walk_.Pass() * kCubeStep;
            const Granule& granule = value_walk_.Part();
            const int32_t keys = granule.end - granule.begin;
            value_.Copy(Values(buffer), RoundUp(keys, kFractal), granule.begin, keys, channel,
                        Min(int32_t(plan_.value_head_dim) - channel, kCubeStep));
            AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kValues + buffer);
            values_left_ = value_walk_.Next();
        }
    }

    // A granule of K is waited for by the first row tile of its group that uses it, one of V never: it was loaded
    // before the P that it is multiplied with. Both are freed after the last row tile that uses them.
    __aicore__ inline AscendC::LocalTensor<T> WaitForKeys(int32_t number, bool first) {
        const int32_t buffer = number % kGranuleBuffers;
        if (first) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kKeys + buffer);
        }
        return Keys(buffer);
    }
    __aicore__ inline void FreeKeys(int32_t number) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kKeys + number % kGranuleBuffers);
        ++keys_freed_;
    }
    __aicore__ inline AscendC::LocalTensor<T> WaitForValues(int32_t number, bool first) {
        const int32_t buffer = number % kGranuleBuffers;
        if (first) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kValues + buffer);
        }
        return Values(buffer);
    }
    __aicore__ inline void FreeValues(int32_t number) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kValues + number % kGranuleBuffers);
        ++values_freed_;
    }

    // Whether the load of this granule of V has been issued.
    __aicore__ inline bool ValuesAreComing(int32_t number) const { return number < values_loaded_; }

    // Piece `piece` of the step's P, which lies in its slot as it will in L1: strips of 16 keys, each all rows.
    __aicore__ inline void LoadProbs(const TileStep& step, int32_t piece) {
        const int32_t buffer = probs_loaded_++ % kProbBuffers;
        const int32_t rows = RoundUp(step.Rows().rows, kFractal);
        const int32_t keys = Min(step.KeyCount() - piece * kCubeStep, kCubeStep);
        const int64_t slot = int64_t(step.step % Heads::kProbSlots) * (Heads::kProbSlotBytes / sizeof(T));
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kProbs + buffer);
        AscendC::DataCopy(Probs(buffer), probs_[slot + int64_t(piece) * kCubeStep * rows],
                          AscendC::DataCopyParams(1, uint16_t(CeilDiv(keys, kFractal) * rows), 0, 0));
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kProbs + buffer);
    }
    // Pieces are used in the order they were loaded.
    __aicore__ inline AscendC::LocalTensor<T> WaitForProbs() {
        const int32_t buffer = probs_used_ % kProbBuffers;
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(CubeEvent::kProbs + buffer);
        return Probs(buffer);
    }
    __aicore__ inline void FreeProbs() {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(CubeEvent::kProbs + probs_used_++ % kProbBuffers);
    }

    __aicore__ inline AscendC::LocalTensor<T> Query(const RowTile& rows) {
        const int32_t elements = kTileRowsMax * RoundUp(int32_t(plan_.head_dim), kCubeStep);
        const uint32_t buffers = uint32_t(kQueryElements / elements);
        return l1_.template Get<T>()[offsetof(L1Memory, query) / sizeof(T) + rows.number % buffers * elements];
    }

    __aicore__ inline int32_t KeySize() const { return key_size_; }
    static constexpr int32_t kValueSize = kGranuleElements / kCubeStep;

private:
    __aicore__ inline AscendC::LocalTensor<T> Keys(int32_t buffer) {
        return l1_.template Get<T>()[offsetof(L1Memory, keys) / sizeof(T) + buffer * kGranuleElements];
    }
    __aicore__ inline AscendC::LocalTensor<T> Values(int32_t buffer) {
        return l1_.template Get<T>()[offsetof(L1Memory, values) / sizeof(T) + buffer * kGranuleElements];
    }
    __aicore__ inline AscendC::LocalTensor<T> Probs(int32_t buffer) {
        return l1_.template Get<T>()[offsetof(L1Memory, probs) / sizeof(T) + buffer * kOperandElements];
    }

    // All channels of a piece are there at once, and a key tile is no more than two granules, so that all row tiles of
    // a group find it in L1. Of a small key tile the first half alone is there sooner.
    __aicore__ inline static int32_t KeySizeOf(const AttentionPlan& plan) {
        const bool whole = int32_t(plan.head_dim) <= kCubeStep && int32_t(plan.tile_keys) > 2 * kCubeStep;
        return whole ? kGranuleElements / kCubeStep : kCubeStep;
    }

    // The buffers are free: two groups ago their last S took K from the buffer that has just become free, or from one
    // that was freed before.
    __aicore__ inline void LoadQueries(const KeyTile& tile) {
        for (int32_t r = 0; r < kRowGroupMax; ++r) {
            const RowTile& rows = tile.row_tiles[r];
            if (rows.SeesKeys()) {
                LoadQueryPart(plan_, tile, rows, Query(rows), 0, query_, plan_.query, tile.sequence.query,
                              query_channels_);
                if (plan_.rope_dim > 0) {
                    LoadQueryPart(plan_, tile, rows, Query(rows), query_channels_, query_rope_, plan_.query_rope,
                                  tile.sequence.query_rope, int32_t(plan_.rope_dim));
                }
            }
        }
    }

    const AttentionPlan& plan_;
    int32_t key_size_;        // keys of a granule of K
    int32_t query_channels_;  // of query and key without their rope parts
    GranuleWalk key_walk_;
    GranuleWalk value_walk_;
    bool keys_left_;
    bool values_left_;
    int32_t keys_loaded_ = 0;
    int32_t keys_freed_ = 0;
    int32_t values_loaded_ = 0;
    int32_t values_freed_ = 0;
    int32_t probs_loaded_ = 0;
    int32_t probs_used_ = 0;
    AscendC::TBuf<AscendC::TPosition::A1> l1_;
    KeySource<T> key_;
    KeySource<T> key_rope_;
    KeySource<T> value_;
    AscendC::GlobalTensor<T> query_;
    AscendC::GlobalTensor<T> query_rope_;
    AscendC::GlobalTensor<T> probs_;
};

}  // namespace ascend_attention
