// SPDX-License-Identifier: Apache-2.0
// What the cube core does for a step: S = Q K^T and O_partial = P V, both in float32, both written to the step's slot
// in global memory. Every product is cut into 128 x 128 x 128 pieces.
#pragma once

#include "engine/cube_loads.h"
#include "engine/cube_products.h"

namespace ascend_attention {

template <typename T>
class CubeStages {
public:
    using Heads = NarrowHeads;

    __aicore__ inline CubeStages(AscendC::TPipe& pipe, const PlanReader& reader, const KernelArguments& arguments,
                                 const KeyTileWalk& walk, uint32_t core)
        : plan_(reader.Plan()), loads_(pipe, reader, arguments, walk, Rings(arguments, core)), products_(pipe) {
        GM_ADDR rings = Rings(arguments, core);
        scores_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + offsetof(CoreWorkspace<Heads>, scores)));
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rings + PartialBegin<Heads>()));
    }

    // Set and wait must pair: takes back the "free" events.
    __aicore__ inline void Finish() {
        loads_.Finish();
        products_.Finish();
    }

    // S = Q K^T of one step; tells the vector cores.
    __aicore__ inline void Scores(const TileStep& step) {
        loads_.PrefetchKeys();
        if (step.step > 0) {  // at the start K comes first: V is wanted two steps later
            loads_.PrefetchValues();
        }
        const int32_t size = loads_.KeySize();
        const KeyTile& tile = step.tile;
        key_base_.MoveTo(step, size, 1);
        for (int32_t key = step.keys.first; key < step.keys.last;) {
            const int32_t index = (key - tile.begin) / size;
            const Granule granule = GranuleOf(tile, index, size);
            const int32_t number = key_base_.Number(tile, index, size);
            const CubeOperand<T> keys{loads_.WaitForKeys(number, granule.first_user == step.r),
                                      CeilDiv(granule.end - granule.begin, kFractal)};
            for (const int32_t end = Min(granule.end, step.keys.last); key < end; key += kCubeStep) {
                ScorePiece(step, keys, key - granule.begin, Min(granule.end - key, kCubeStep), key - step.keys.first);
            }
            if (granule.last_user == step.r) {
                loads_.FreeKeys(number);
                if (key < step.keys.last) {
                    loads_.PrefetchKeys();
                }
            }
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_FIX>(CrossCoreFlag::kVectorWaitsForScores);
    }

    // O_partial = P V of one step, after the vector cores have written P; tells the vector cores.
    __aicore__ inline void Partial(const TileStep& step) {
        const int32_t channels = WholeStrips(plan_.value_head_dim);
        const int32_t passes = CeilDiv(channels, kCubeStep);
        value_base_.MoveTo(step, CubeLoads<T>::kValueSize, passes);
        for (int32_t pass = 0; pass < passes; ++pass) {
            PartialColumns(step, pass, Min(channels - pass * kCubeStep, kCubeStep));
        }
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_FIX>(CrossCoreFlag::kVectorWaitsForPartial);
    }

private:
    // Running numbers of the granules of the key tile that the steps are at.
    class GranuleNumbers {
    public:
        __aicore__ inline void MoveTo(const TileStep& step, int32_t size, int32_t passes) {
            if (step.r == FirstUser(step.tile)) {
                base_ += count_ * passes;
                count_ = GranulesUsed(step.tile, CeilDiv(step.tile.end - step.tile.begin, size), size);
            }
        }
        __aicore__ inline int32_t Number(const KeyTile& tile, int32_t index, int32_t size, int32_t pass = 0) const {
            return base_ + pass * count_ + GranulesUsed(tile, index, size);
        }

    private:
        __aicore__ inline static int32_t FirstUser(const KeyTile& tile) {
            for (int32_t r = 0; r < kRowGroupMax; ++r) {
                const KeySpan keys = tile.KeysOf(r);
                if (keys.first < keys.last) {
                    return r;
                }
            }
            return -1;
        }

        int32_t base_ = 0;
        int32_t count_ = 0;
    };

    __aicore__ inline GM_ADDR Rings(const KernelArguments& arguments, uint32_t core) const {
        return arguments.workspace + uint64_t(core) * plan_.workspace_core_stride;
    }
    // One piece of S, accumulated over the channels in steps of 128. `key` counts from the granule's first one,
    // `column` is the one of the slot. Keys that only another row tile of the group sees are multiplied as well; nobody
    // reads the result.
    __aicore__ inline void ScorePiece(const TileStep& step, const CubeOperand<T>& granule, int32_t key, int32_t keys,
                                      int32_t column) {
        const RowTile& rows = step.Rows();
        const int32_t product = products_.NextProduct();
        const int32_t channels = WholeStrips(plan_.head_dim);
        for (int32_t channel = 0; channel < channels; channel += kCubeStep) {
            const int32_t depth = Min(channels - channel, kCubeStep);
            const int32_t l0 = products_.NextL0();
            LoadQueryLeft(l0, rows, channel, depth);
            products_.LoadKeyRight(l0, granule, key, keys, channel / kFractal, depth / kFractal);
            products_.Multiply(product, l0, rows.rows, keys, depth, channel == 0, channel + depth >= channels);
        }
        const int64_t slot = ScoreSlot<Heads>(step.step, 0) / int64_t(sizeof(float));
        products_.StoreProduct(product, scores_[slot + column], rows.rows, keys, int32_t(plan_.tile_keys));
    }

    // Q stays in L0A from piece to piece.
    __aicore__ inline void LoadQueryLeft(int32_t l0, const RowTile& rows, int32_t channel, int32_t depth) {
        const uint32_t content = rows.number * (Heads::kHeadDimMax / kCubeStep) + uint32_t(channel / kCubeStep) + 1;
        if (left_holds_[l0] != content) {
            products_.LoadLeft(l0, loads_.Query(rows), rows.rows, channel / kFractal, depth);
            left_holds_[l0] = content;
        }
    }

    // 128 channels of O_partial, accumulated over the keys in steps of 128. V of the first pieces goes to L0B before P
    // is there: two, if both are in the granule that has been fetched in any case.
    __aicore__ inline void PartialColumns(const TileStep& step, int32_t pass, int32_t columns) {
        constexpr int32_t kSize = CubeLoads<T>::kValueSize;
        const KeyTile& tile = step.tile;
        const int32_t rows = step.Rows().rows;
        const int32_t pieces = CeilDiv(step.KeyCount(), kCubeStep);
        int32_t probs = 0;   // pieces of P whose load has been issued
        int32_t rights = 0;  // pieces of V that are on their way to L0B
        const int32_t product = products_.NextProduct();
        for (int32_t key = step.keys.first; key < step.keys.last;) {
            const int32_t index = (key - tile.begin) / kSize;
            const Granule granule = GranuleOf(tile, index, kSize);
            const int32_t number = value_base_.Number(tile, index, kSize, pass);
            if (!loads_.ValuesAreComing(number)) {
                loads_.PrefetchValues();
            }
            const CubeOperand<T> values{loads_.WaitForValues(number, granule.first_user == step.r),
                                        CeilDiv(granule.end - granule.begin, kFractal)};
            const int32_t end = Min(granule.end, step.keys.last);
            for (int32_t ahead = key; key < end; key += kCubeStep) {
                const int32_t piece = (key - step.keys.first) / kCubeStep;
                for (; ahead < end && rights < Max(kL0Buffers, piece + 1); ahead += kCubeStep, ++rights) {
                    products_.LoadValueRight(products_.NextL0(), values, ahead - granule.begin,
                                             Min(step.keys.last - ahead, kCubeStep), columns);
                }
                if (piece == 0 && pass == 0) {
                    AscendC::CrossCoreWaitFlag(CrossCoreFlag::kCubeWaitsForProbs);
                }
                for (; probs < Min(pieces, piece + kProbBuffers); ++probs) {
                    loads_.LoadProbs(step, probs);
                }
                if (piece == 0) {
                    loads_.PrefetchKeys();
                    loads_.PrefetchValues();
                }
                const int32_t keys = Min(step.keys.last - key, kCubeStep);
                const int32_t l0 = products_.L0Before(rights - piece);
                products_.LoadLeft(l0, loads_.WaitForProbs(), rows, 0, keys);
                left_holds_[l0] = 0;
                loads_.FreeProbs();
                products_.Multiply(product, l0, rows, columns, keys, piece == 0, key + keys >= step.keys.last);
            }
            if (granule.last_user == step.r) {
                loads_.FreeValues(number);
                if (key < step.keys.last) {
                    loads_.PrefetchValues();
                }
            }
        }
        const int64_t slot = PartialSlot<Heads>(step, 0) / int64_t(sizeof(float));
        products_.StoreProduct(product, partial_[slot + pass * kCubeStep], rows, columns,
                               RoundUp(int32_t(plan_.value_head_dim), kCubeStep));
    }

    const AttentionPlan& plan_;
    CubeLoads<T> loads_;
    GranuleNumbers key_base_;
    GranuleNumbers value_base_;
    CubeProducts<T> products_;
    AscendC::GlobalTensor<float> scores_;
    AscendC::GlobalTensor<float> partial_;
    uint32_t left_holds_[kL0Buffers] = {};  // which query tile and channels L0A has; 0: something else
};

}  // namespace ascend_attention
