// SPDX-License-Identifier: Apache-2.0
// The schedule of wide heads (up to 512 channels, and 512 + 64 of latent attention). For step i of the tile walk:
//
//                 Lead(i)                    Follow(i - 1)
//   cube core     S(i), first half of keys   P V(i - 1), first 256 channels; S(i), the rest; P V(i - 1), the rest
//   vector cores  Softmax(i)                 Output(i - 1)
//
// P V of a step begins half an S and half a P V after its S: time for softmax. Before P V(i - 1) the cube core has
// waited for P of step i - 1, hence for the end of every earlier read of S(i - 2) by the vector cores; S of step i is
// told after the P of step i - 1 has been read, so P needs one slot. O_partial has one as well: the vector cores say
// when they have read it. Each slot less is memory that is not written back to HBM.
#pragma once

#include "engine/prefill.h"
#include "engine/wide_stages.h"

namespace ascend_attention {

template <typename T>
struct CubeWide {
    using Heads = WideHeads;
    using Stages = WideStages<T>;
    __aicore__ static inline void Lead(Stages& stages, const TileStep& step) { stages.Lead(step); }
    __aicore__ static inline void Follow(Stages& stages, const TileStep& step) { stages.Follow(step); }
    __aicore__ static inline void Empty(Stages&, const TileStep&) {}
};

template <typename T, typename Heads>
struct VectorWide : VectorPrefill<T, Heads> {
    __aicore__ static inline void Follow(VectorStages<T, Heads>& stages, const TileStep& step) {
        stages.output.Run(step);
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_MTE2>(CrossCoreFlag::kCubeWaitsForUpdate);
    }
};

template <typename T>
__aicore__ inline void RunWide(const KernelArguments& arguments) {
    RunAttention<T, CubeWide, VectorWide>(arguments);
}

}  // namespace ascend_attention
