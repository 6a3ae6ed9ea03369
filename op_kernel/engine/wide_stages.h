// SPDX-License-Identifier: Apache-2.0
// What the cube core does for wide heads. The output of a row tile is twice L0C, so P V takes passes of 256 channels,
// two accumulators each, and the S of the next step comes between them: see engine/wide.h.
#pragma once

#include "engine/cube_products.h"
#include "engine/wide_loads.h"

namespace ascend_attention {

template <typename T>
class WideStages {
public:
    using Heads = WideHeads;

    __aicore__ inline WideStages(AscendC::TPipe& pipe, const PlanReader& reader, const KernelArguments& arguments,
                                 const KeyTileWalk& walk, uint32_t core)
        : plan_(reader.Plan()),
          channels_(WholeStrips(plan_.head_dim - plan_.rope_dim)),
          loads_(pipe, reader, arguments, walk, Rings(arguments, core)),
          products_(pipe) {
        GM_ADDR rings = Rings(arguments, core);
        scores_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace<Heads>, scores)));
        loads_.Prefetch();
    }

    // Set and wait must pair: takes back the "free" events.
    __aicore__ inline void Finish() {
        loads_.Finish();
        products_.Finish();
        if (has_worked_) {
            WaitForUpdates(lead_.step + 1);
        }
    }

    // The pieces of S in front; all of them when no step precedes. P of the step before is fetched before the last one,
    // or after a short step, whose softmax is not to wait for it.
    __aicore__ inline void Lead(const TileStep& step) {
        const int32_t pieces = CeilDiv(step.KeyCount(), kCubeStep);
        if (step.step == 0) {
            Scores(step, 0, pieces);
        } else {
            const int32_t front = PiecesInFront(pieces);
            const int32_t before = front < pieces ? front - 1 : front;
            Scores(step, 0, before);
            FetchProbs(lead_);
            Scores(step, before, front);
        }
        lead_ = step;
        has_worked_ = true;
    }

    // P V of a step, with the rest of S of the step that leads, if one does.
    __aicore__ inline void Follow(const TileStep& step) {
        const bool leads = lead_.step != step.step;
        if (!leads && !IsShortEnd(step)) {
            FetchProbs(step);
        }
        PartialChannels(step, 0);
        if (leads) {
            const int32_t pieces = CeilDiv(lead_.KeyCount(), kCubeStep);
            Scores(lead_, PiecesInFront(pieces), pieces);
        }
        if (leads && IsShortEnd(lead_)) {
            FetchProbs(lead_);
        }
        for (int32_t pass = 1; pass < Passes(); ++pass) {
            PartialChannels(step, pass);
        }
    }

private:
    __aicore__ inline GM_ADDR Rings(const KernelArguments& arguments, uint32_t core) const {
        return arguments.workspace + uint64_t(core) * plan_.workspace_core_stride;
    }

    __aicore__ inline void FetchProbs(const TileStep& step) {
        AscendC::CrossCoreWaitFlag(CrossCoreFlag::kCubeWaitsForProbs);
        loads_.LoadProbs(step, IsShortEnd(step));
    }

    __aicore__ inline int32_t Passes() const { return CeilDiv(int32_t(plan_.value_head_dim), kWideChannels); }

    // Until the vector cores have read all P V of the first `steps` steps, and `passes` passes of the next one.
    __aicore__ inline void WaitForUpdates(uint32_t steps, int32_t passes = 0) {
        for (const uint32_t all = steps * uint32_t(Passes()) + uint32_t(passes); updates_ < all; ++updates_) {
            AscendC::CrossCoreWaitFlag(CrossCoreFlag::kCubeWaitsForUpdate);
        }
    }

    // Of P V. Its first pass is where S was, which has been read; but the last step of a core leaves a part behind,
    // which may come to where P V of the step before was: if that is of another row tile, other rows of it are on each
    // vector core.
    __aicore__ inline void WaitForSlot(const TileStep& step, int32_t pass) {
        if (pass > 0) {
            WaitForUpdates(step.step, step.tile.ends ? 0 : pass);
        } else if (step.tile.ends && step.first) {
            WaitForUpdates(step.step);
        }
    }

    // The first slot of S held P V of two steps ago, which the vector cores read after the softmax that they are at: a
    // second piece, if one is in front, is multiplied before that is waited for.
    __aicore__ inline void Scores(const TileStep& step, int32_t begin, int32_t end) {
        const bool waits = begin == 0 && step.step >= 2;
        const int32_t ahead = waits ? Min(end, kAccumulatorBuffers) : begin;
        int32_t products[kAccumulatorBuffers];
        for (int32_t piece = begin; piece < ahead; ++piece) {
            products[piece] = ScorePiece(step, piece);
        }
        if (waits) {
            WaitForUpdates(step.step - 1);
        }
        for (int32_t piece = begin; piece < ahead; ++piece) {
            StoreScores(step, piece, products[piece]);
        }
        for (int32_t piece = ahead; piece < end; ++piece) {
            StoreScores(step, piece, ScorePiece(step, piece));
        }
    }

    // S of 128 keys, accumulated over the channels: in which accumulator it is.
    __aicore__ inline int32_t ScorePiece(const TileStep& step, int32_t piece) {
        const int32_t keys = Min(step.KeyCount() - piece * kCubeStep, kCubeStep);
        const int32_t rows = step.Rows().rows;
        const bool keeps = loads_.IsKept(step) && (piece + 1) * kCubeStep >= step.KeyCount();
        ScoreProduct score{products_.NextProduct(), rows, keys, 0, 0};
        for (int32_t begin = 0; begin < channels_; begin += kWideChannels) {
            const int32_t depth = Min(channels_ - begin, kWideChannels);
            Multiply(score, {loads_.Wait(), CeilDiv(keys, kFractal)}, begin, depth);
            if (begin + depth == channels_ && plan_.rope_dim > 0) {
                Multiply(score, {loads_.NextRope(), CeilDiv(keys, kFractal)}, channels_, int32_t(plan_.rope_dim));
            }
            if (keeps && begin == 0) {
                loads_.Keep();
            } else {
                loads_.Free();
            }
        }
        if (step.last && (piece + 1) * kCubeStep >= step.KeyCount()) {
            loads_.FreeQuery();
        }
        return score.product;
    }

    __aicore__ inline void StoreScores(const TileStep& step, int32_t piece, int32_t product) {
        const int32_t key = piece * kCubeStep;
        const int32_t keys = Min(step.KeyCount() - key, kCubeStep);
        const int64_t slot = ScoreSlot<Heads>(step.step, key / Heads::kScoreSlotKeys) / int64_t(sizeof(float));
        products_.StoreProduct(product, scores_[slot + key % Heads::kScoreSlotKeys], step.Rows().rows, keys,
                               ScorePitch<Heads>(plan_));
        if (key + keys == step.KeyCount()) {
            AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_FIX>(CrossCoreFlag::kVectorWaitsForScores);
        }
    }

    // S of a piece of keys on its way: how many channels have come to L0, and in which buffer the last ones are.
    struct ScoreProduct {
        int32_t product;
        int32_t rows;
        int32_t keys;
        int32_t channels;
        int32_t l0;
    };

    // `depth` channels: from `channel` of the query, all of `source`. Blocks go over the ends of granules: while the
    // unit is at one, the next comes to L0, and the rope part alone would be too short for that.
    __aicore__ inline void Multiply(ScoreProduct& score, const CubeOperand<T>& source, int32_t channel, int32_t depth) {
        const int32_t all = channels_ + int32_t(plan_.rope_dim);
        const int32_t block = plan_.rope_dim > 0 ? kRopeBlock : kCubeStep;
        for (int32_t done = 0; done < depth;) {
            const int32_t first = score.channels % block;
            const int32_t block_depth = Min(block, all - (score.channels - first));
            const int32_t taken = Min(depth - done, block_depth - first);
            if (first == 0) {
                score.l0 = products_.NextL0();
            }
            products_.LoadLeft(score.l0, loads_.Query(), score.rows, (channel + done) / kFractal, taken, first,
                               block_depth);
            products_.LoadKeyRight(score.l0, source, 0, score.keys, done / kFractal, taken / kFractal,
                                   first / kFractal);
            done += taken;
            score.channels += taken;
            if (first + taken == block_depth) {
                products_.Multiply(score.product, score.l0, score.rows, score.keys, block_depth,
                                   score.channels == block_depth, score.channels == all);
            }
        }
    }

    // Up to 256 channels of O_partial, accumulated over the keys.
    __aicore__ inline void PartialChannels(const TileStep& step, int32_t pass) {
        const int32_t begin = pass * kWideChannels;
        const int32_t columns = Min(WholeStrips(plan_.value_head_dim) - begin, kWideChannels);
        const int32_t rows = step.Rows().rows;
        const int32_t row_elements = RoundUp(rows, kFractal);
        const int32_t pieces = CeilDiv(step.KeyCount(), kCubeStep);
        const bool after_query = IsShortEnd(step);
        if (pass == 0) {
            loads_.WaitForProbs();
        }
        const AscendC::LocalTensor<T> probs = loads_.Probs(after_query);
        const bool kept = pass == 0 && loads_.IsKept(step);  // the last piece: it comes first
        int32_t products[kAccumulatorBuffers];
        for (int32_t turn = 0; turn < pieces; ++turn) {
            const int32_t piece = !kept ? turn : turn == 0 ? pieces - 1 : turn - 1;
            const int32_t keys = Min(step.KeyCount() - piece * kCubeStep, kCubeStep);
            const int32_t fractals = CeilDiv(keys, kFractal);
            const AscendC::LocalTensor<T> granule = kept && turn == 0 ? loads_.Kept() : loads_.Wait();
            for (int32_t i = 0; i * kCubeStep < columns; ++i) {
                const CubeOperand<T> values{granule[i * kCubeStep * fractals * kFractal], fractals};
                const int32_t width = Min(columns - i * kCubeStep, kCubeStep);
                if (turn == 0) {
                    products[i] = products_.NextProduct();
                }
                const int32_t l0 = products_.NextL0();
                products_.LoadLeft(l0, probs[piece * kCubeStep * row_elements], rows, 0, keys);
                products_.LoadValueRight(l0, values, 0, keys, width);
                products_.Multiply(products[i], l0, rows, width, keys, turn == 0, turn == pieces - 1);
                if (turn == pieces - 1) {
                    if (i == 0) {
                        WaitForSlot(step, pass);
                    }
                    StorePartial(step, pass, products[i], i * kCubeStep, width);
                }
            }
            if (turn == pieces - 1 && pass == Passes() - 1) {
                loads_.FreeProbs(after_query);
            }
            if (kept && turn == 0) {
                loads_.FreeKept();
            } else {
                loads_.Free();
            }
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_FIX>(CrossCoreFlag::kVectorWaitsForPartial);
    }

    // `channel`: of the pass.
    __aicore__ inline void StorePartial(const TileStep& step, int32_t pass, int32_t product, int32_t channel,
                                        int32_t columns) {
        const int64_t slot = PartialSlot<Heads>(step, pass) / int64_t(sizeof(float));
        products_.StoreProduct(product, scores_[slot + channel], step.Rows().rows, columns, kWideChannels);
    }

    // Divides 512 + 64 channels evenly.
    static constexpr int32_t kRopeBlock = 96;

    const AttentionPlan& plan_;
    int32_t channels_;  // of query and key without their rope parts, in whole strips
    WideLoads<T> loads_;
    CubeProducts<T> products_;
    AscendC::GlobalTensor<float> scores_;
    TileStep lead_ = {};
    uint32_t updates_ = 0;  // passes over the channels, of all steps, that are known to have been read
    bool has_worked_ = false;
};

}  // namespace ascend_attention
