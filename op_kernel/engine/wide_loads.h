// SPDX-License-Identifier: Apache-2.0
// Loads of the cube core for wide heads. K and V pass through L1 in one queue of granules, in the order in which the
// cube uses them, each fetched as soon as a buffer is free: the queue runs ahead over steps and tasks.
//
// Where V is the memory of K (latent attention), one granule of a step stays in L1 from S to P V: the first channels of
// its last keys, which P V begins with.
#pragma once

#include "engine/key_source.h"
#include "engine/memory.h"

namespace ascend_attention {

constexpr int32_t kWideChannels = 2 * kCubeStep;  // of a granule: its rows fill lines of L2 and ND2NZ's 512 bytes
constexpr int32_t kWideRopeMax = 64;
constexpr int32_t kWideRopeBuffers = 2;

struct WideL1Memory {
    uint16_t query[kTileRowsMax * WideHeads::kHeadDimMax];
    uint16_t probs[kTileRowsMax * kTileKeysMax];  // a whole step's: each pass over the channels needs all of it
    uint16_t granules[kWideGranules][kCubeStep * kWideChannels];
    uint16_t ropes[kWideRopeBuffers][kCubeStep * kWideRopeMax];
};
static_assert(sizeof(WideL1Memory) <= 512 * 1024 - 256, "L1");
static_assert(kCubeStep <= WideHeads::kHeadDimMax, "P of a short last step takes the place of Q");

// Of the pieces of a step's S those that come before P V of the step before.
__aicore__ inline int32_t PiecesInFront(int32_t pieces) { return (3 * pieces + 2) / 4; }

// Which granule comes when. In each round one tile of keys leads with S and the one before follows with P V:
// S of the pieces in front, P V for the first 256 channels, the rest of S, the rest of P V.
class WideLoadOrder {
public:
    __aicore__ inline WideLoadOrder(const KeyTileWalk& walk, const AttentionPlan& plan, bool values_are_keys)
        : walk_(walk),
          values_are_keys_(values_are_keys),
          key_parts_(CeilDiv(int32_t(plan.head_dim - plan.rope_dim), kWideChannels)),
          passes_(CeilDiv(int32_t(plan.value_head_dim), kWideChannels)) {}

    __aicore__ inline bool Next() {
        for (;;) {
            if (index_ < count_) {
                ++index_;
                return true;
            }
            index_ = 0;
            if (++phase_ == kPhases) {
                phase_ = 0;
                has_follow_ = has_lead_;
                follow_ = lead_;
                follow_is_kept_ = lead_is_kept_;
                has_lead_ = NextTile();
                lead_is_kept_ = IsKept(lead_, !has_follow_);
                if (!has_lead_ && !has_follow_) {
                    return false;
                }
            }
            count_ = CountOf(phase_);
        }
    }

    __aicore__ inline bool IsKey() const { return phase_ == kFirstScores || phase_ == kLastScores; }
    __aicore__ inline const KeyTile& Tile() const { return IsKey() ? lead_ : follow_; }
    __aicore__ inline int32_t Piece() const {
        return IsKey() ? (phase_ == kLastScores ? FirstPieces() : 0) + (index_ - 1) / key_parts_ : index_ - 1;
    }
    // Which 256 channels.
    __aicore__ inline int32_t Part() const {
        return IsKey() ? (index_ - 1) % key_parts_ : (phase_ == kLastPartial ? 1 : 0);
    }
    // Whether it stays until P V.
    __aicore__ inline bool IsKept() const {
        return IsKey() && lead_is_kept_ && Piece() == PiecesOf(lead_) - 1 && Part() == 0;
    }
    // Whether a granule of a key tile stays: not of one with a single piece in the middle of the walk, since that of
    // the tile before is still there when it comes.
    __aicore__ inline bool IsKept(const KeyTile& tile, bool first) const {
        return values_are_keys_ && (first || PiecesOf(tile) > PiecesInFront(PiecesOf(tile)));
    }
    // Whether it is the first K of its task.
    __aicore__ inline bool StartsTask() const {
        return IsKey() && lead_.first && phase_ == kFirstScores && index_ == 1;
    }

private:
    static constexpr int32_t kFirstScores = 0;
    static constexpr int32_t kFirstPartial = 1;
    static constexpr int32_t kLastScores = 2;
    static constexpr int32_t kLastPartial = 3;
    static constexpr int32_t kPhases = 4;

    __aicore__ inline bool NextTile() {
        while (walk_.Next(lead_)) {
            if (lead_.begin < lead_.end) {
                return true;
            }
        }
        return false;
    }
    __aicore__ inline static int32_t PiecesOf(const KeyTile& tile) { return CeilDiv(tile.end - tile.begin, kCubeStep); }
    __aicore__ inline int32_t FirstPieces() const {
        const int32_t pieces = PiecesOf(lead_);
        return has_follow_ ? PiecesInFront(pieces) : pieces;
    }
    __aicore__ inline int32_t CountOf(int32_t phase) const {
        if (phase == kFirstScores) {
            return has_lead_ ? FirstPieces() * key_parts_ : 0;
        }
        if (phase == kLastScores) {
            return has_lead_ ? (PiecesOf(lead_) - FirstPieces()) * key_parts_ : 0;
        }
        if (phase == kFirstPartial) {  // the last piece is what was kept
            return has_follow_ ? PiecesOf(follow_) - (follow_is_kept_ ? 1 : 0) : 0;
        }
        return has_follow_ && passes_ > 1 ? PiecesOf(follow_) : 0;
    }

    KeyTileWalk walk_;
    KeyTile lead_ = {};
    KeyTile follow_ = {};
    bool values_are_keys_;
    bool lead_is_kept_ = false;
    bool follow_is_kept_ = false;
    int32_t key_parts_;
    int32_t passes_;
    bool has_lead_ = false;
    bool has_follow_ = false;
    int32_t phase_ = kLastPartial;
    int32_t index_ = 0;
    int32_t count_ = 0;
};

template <typename T>
class WideLoads {
public:
    using Heads = WideHeads;

    __aicore__ inline WideLoads(AscendC::TPipe& pipe, const PlanReader& reader, const KernelArguments& arguments,
                                const KeyTileWalk& walk, GM_ADDR rings)
        : plan_(reader.Plan()),
          channels_(int32_t(plan_.head_dim - plan_.rope_dim)),
          order_(walk, plan_, ValuesAreKeys(plan_, arguments)),
          key_(plan_, plan_.key_placement, arguments.key, arguments.block_table, plan_.key, plan_.key_block),
          key_rope_(plan_, RopePlacement(plan_), arguments.key_rope, arguments.block_table, plan_.key_rope,
                    plan_.key_rope_block),
          value_(plan_, plan_.key_placement, arguments.value, arguments.block_table, plan_.value, plan_.value_block) {
        pipe.InitBuffer(l1_, sizeof(WideL1Memory));
        query_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.query));
        query_rope_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(arguments.query_rope));
        probs_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rings + offsetof(CoreWorkspace<Heads>, scores)));
        left_ = order_.Next();
        for (int32_t i = 0; i < kWideGranules; ++i) {
            FreeBuffer(i);
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kProbs);
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kQuery);
    }

    // Set and wait must pair: takes back the "free" events.
    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < kWideGranules; ++i) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kGranules + i);
        }
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kProbs);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kQuery);
    }

    // Issues every load of K and V for which a buffer has been freed. With the first K of a task comes its Q, for which
    // there is one buffer.
    __aicore__ inline void Prefetch() {
        while (left_ && taken_ < freed_ && !(order_.StartsTask() && queries_loaded_ > queries_used_)) {
            const int32_t buffer = free_[taken_ % kWideGranules];
            loading_[taken_++ % kWideGranules] = buffer;
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kGranules + buffer);
            const KeyTile& tile = order_.Tile();
            const int32_t key = tile.begin + order_.Piece() * kCubeStep;
            const int32_t keys = Min(tile.end - key, kCubeStep);
            if (order_.IsKey()) {
                LoadKeys(buffer, tile, key, keys);
            } else {
                LoadValues(buffer, tile, key, keys);
            }
            AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(WideCubeEvent::kGranules + buffer);
            left_ = order_.Next();
        }
    }

    // The next granule in order: 128 keys, up to 256 channels.
    __aicore__ inline AscendC::LocalTensor<T> Wait() {
        const int32_t buffer = loading_[used_ % kWideGranules];
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(WideCubeEvent::kGranules + buffer);
        return Granule(buffer);
    }
    // It has been used.
    __aicore__ inline void Free() {
        FreeBuffer(loading_[used_++ % kWideGranules]);
        Prefetch();
    }

    // Whether a granule of the step's K stays.
    __aicore__ inline bool IsKept(const TileStep& step) const { return order_.IsKept(step.tile, step.step == 0); }
    // In place of Free: it stays, and is needed no more.
    __aicore__ inline void Keep() { kept_ = loading_[used_++ % kWideGranules]; }
    __aicore__ inline AscendC::LocalTensor<T> Kept() { return Granule(kept_); }
    __aicore__ inline void FreeKept() {
        FreeBuffer(kept_);
        Prefetch();
    }

    // The rope part of the next piece of K, there with the first channels of the piece.
    __aicore__ inline AscendC::LocalTensor<T> NextRope() { return Rope(ropes_used_++ % kWideRopeBuffers); }

    // P of a step lies in its slot row by row, in the place of the scores. `after_query`: it takes the place of Q,
    // which the core needs no more.
    __aicore__ inline void LoadProbs(const TileStep& step, bool after_query) {
        const int32_t rows = Max(step.Rows().rows, kLeftRowsMin);
        const int64_t slot_pitch = 2 * int64_t(ScorePitch<Heads>(plan_));  // elements of T
        const RowRun run{ScoreSlot<Heads>(step.step, 0) / int64_t(sizeof(T)), slot_pitch, rows};
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(ProbsEvent(after_query));
        CopyRunToNz(Probs(after_query), RoundUp(rows, kFractal), 0, probs_, run, step.KeyCount());
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(WideCubeEvent::kProbs);
        // Its slot takes scores of the next step.
        AscendC::SetFlag<AscendC::HardEvent::MTE2_FIX>(WideCubeEvent::kProbs);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_FIX>(WideCubeEvent::kProbs);
    }
    __aicore__ inline void WaitForProbs() { AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(WideCubeEvent::kProbs); }
    __aicore__ inline AscendC::LocalTensor<T> Probs(bool after_query) {
        return Memory(after_query ? offsetof(WideL1Memory, query) : offsetof(WideL1Memory, probs));
    }
    __aicore__ inline void FreeProbs(bool after_query) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(ProbsEvent(after_query));
    }

    // Q of the current task: loaded before its first K, so there when that is.
    __aicore__ inline AscendC::LocalTensor<T> Query() { return Memory(offsetof(WideL1Memory, query)); }
    __aicore__ inline void FreeQuery() {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kQuery);
        ++queries_used_;
        Prefetch();
    }

private:
    __aicore__ inline static int32_t ProbsEvent(bool after_query) {
        return after_query ? WideCubeEvent::kQuery : WideCubeEvent::kProbs;
    }
    __aicore__ inline AscendC::LocalTensor<T> Memory(uint32_t byte_offset) {
        return l1_.template Get<T>()[byte_offset / sizeof(T)];
    }
    __aicore__ inline AscendC::LocalTensor<T> Granule(int32_t buffer) {
        return Memory(uint32_t(offsetof(WideL1Memory, granules) + sizeof(WideL1Memory::granules[0]) * buffer));
    }
    __aicore__ inline AscendC::LocalTensor<T> Rope(int32_t buffer) {
        return Memory(uint32_t(offsetof(WideL1Memory, ropes) + sizeof(WideL1Memory::ropes[0]) * buffer));
    }

    // Whether the rows of K, without their rope part, serve as V.
    __aicore__ inline static bool ValuesAreKeys(const AttentionPlan& plan, const KernelArguments& arguments) {
        return arguments.value == arguments.key && IsPaged(plan.key_placement) && plan.value.head == plan.key.head &&
               plan.value.row == plan.key.row && plan.value_block == plan.key_block &&
               plan.value_head_dim + plan.rope_dim <= plan.head_dim;
    }

    // L2 is the limit then, and HBM can bring the keys that pass it once for each of two row tiles.
    __aicore__ inline static bool FewReadKeys(const KeyTile& tile) {
        return tile.sequence.tile_count == 1 ||
               (tile.sequence.tile_count == 2 && tile.sequence.tile_rows == kTileRowsMax);
    }

    __aicore__ inline void FreeBuffer(int32_t buffer) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kGranules + buffer);
        free_[freed_++ % kWideGranules] = buffer;
    }

    // The rope part of a piece comes with its first channels: together with the last ones it would be late. It needs no
    // event of its own: heads with one have two parts of channels, so when a buffer is free for the first channels, the
    // last ones of two pieces ago have been used, and their rope part with them.
    __aicore__ inline void LoadKeys(int32_t buffer, const KeyTile& tile, int32_t key, int32_t keys) {
        if (order_.StartsTask()) {
            key_.MoveTo(tile, tile.sequence.key);
            key_rope_.MoveTo(tile, tile.sequence.key_rope);
            key_rope_.ReadOnce(FewReadKeys(tile));
            LoadQuery(tile);
        }
        const int32_t channel = order_.Part() * kWideChannels;
        const int32_t strip = RoundUp(keys, kFractal);
        key_.ReadOnce(order_.IsKept() && FewReadKeys(tile));
        key_.Copy(Granule(buffer), strip, key, keys, channel, Min(channels_ - channel, kWideChannels));
        if (plan_.rope_dim > 0 && order_.Part() == 0) {
            key_rope_.Copy(Rope(ropes_loaded_++ % kWideRopeBuffers), strip, key, keys, 0, int32_t(plan_.rope_dim));
        }
    }

    __aicore__ inline void LoadValues(int32_t buffer, const KeyTile& tile, int32_t key, int32_t keys) {
        if (tile.first && order_.Piece() == 0) {  // of either part: the only piece of the first may have been kept
            value_.MoveTo(tile, tile.sequence.value);
        }
        const int32_t channel = order_.Part() * kWideChannels;
        value_.Copy(Granule(buffer), RoundUp(keys, kFractal), key, keys, channel,
                    Min(int32_t(plan_.value_head_dim) - channel, kWideChannels));
    }

    __aicore__ inline void LoadQuery(const KeyTile& tile) {
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(WideCubeEvent::kQuery);
        ++queries_loaded_;
        LoadQueryPart(plan_, tile, tile.row_tiles[0], Query(), 0, query_, plan_.query, tile.sequence.query, channels_);
        if (plan_.rope_dim > 0) {
            LoadQueryPart(plan_, tile, tile.row_tiles[0], Query(), channels_, query_rope_, plan_.query_rope,
                          tile.sequence.query_rope, int32_t(plan_.rope_dim));
        }
    }

    const AttentionPlan& plan_;
    int32_t channels_;  // of query and key without their rope parts
    WideLoadOrder order_;
    bool left_;
    // Buffers in the order in which they became free, and in which they were taken.
    int32_t free_[kWideGranules];
    int32_t loading_[kWideGranules];
    int32_t freed_ = 0;
    int32_t taken_ = 0;
    int32_t used_ = 0;
    int32_t kept_ = 0;
    int32_t queries_loaded_ = 0;
    int32_t queries_used_ = 0;
    int32_t ropes_loaded_ = 0;
    int32_t ropes_used_ = 0;
    AscendC::TBuf<AscendC::TPosition::A1> l1_;
    KeySource<T> key_;
    KeySource<T> key_rope_;
    KeySource<T> value_;
    AscendC::GlobalTensor<T> query_;
    AscendC::GlobalTensor<T> query_rope_;
    AscendC::GlobalTensor<T> probs_;
};

}  // namespace ascend_attention
