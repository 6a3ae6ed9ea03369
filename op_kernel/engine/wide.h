// SPDX-License-Identifier: Apache-2.0
// The schedule of wide heads (up to 512 channels, and 512 + 64 of latent attention). For step i of the tile walk:
//
//                 Lead(i)                    Follow(i - 1)
//   cube core     S(i), pieces in front      P V(i - 1), first 256 channels; S(i), the rest; P V(i - 1), the rest
//   vector cores  Output(i - 1), first 256   Output(i - 1), the rest
//                 channels; Softmax(i)
//
// From the last scores of a step to its P in L1 a softmax takes longer than half a step, so three of four pieces of the
// next S come in front of its P V. Before P V(i - 1) the cube core has waited for P of step i - 1, hence for the end of
// every earlier read of S by the vector cores. S has three slots of 256 keys. P of a row takes the place of its first
// scores: the second half of S(i) comes where P(i - 1) was, when that has been fetched. P V(i - 1) takes the place of
// the last scores of its step, pass after pass; the first half of S(i + 1) comes there, when the vector cores say that
// they have read it. Each slot less is memory that is not written back to HBM.
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

template <typename T, typename HeadsOf>
struct VectorWide {
    using Heads = HeadsOf;
    struct Stages : VectorStages<T, Heads> {
        TileStep before = {};
        uint32_t begun = 0;  // steps whose first pass has been added
    };
    __aicore__ static inline void Pass(Stages& stages, const TileStep& step, int32_t pass) {
        stages.output.Run(step, pass);
        AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_MTE2>(CrossCoreFlag::kCubeWaitsForUpdate);
    }
    __aicore__ static inline void Begin(Stages& stages, const TileStep& step) {
        if (stages.begun == step.step) {
            Pass(stages, step, 0);
            ++stages.begun;
        }
    }
    // The first pass of the step before is there while the cube core is at the last piece of this step's S. At the end
    // there may be no such piece; then S is there before.
    __aicore__ static inline void Lead(Stages& stages, const TileStep& step) {
        if (step.step > 0 && !IsShortEnd(step)) {
            Begin(stages, stages.before);
        }
        stages.softmax.Run(step);
        stages.before = step;
    }
    __aicore__ static inline void Follow(Stages& stages, const TileStep& step) {
        Begin(stages, step);
        for (int32_t pass = 1; pass < stages.output.PassCount(); ++pass) {
            Pass(stages, step, pass);
        }
    }
    __aicore__ static inline void Empty(Stages& stages, const TileStep& step) { stages.output.WriteEmpty(step); }
};

template <typename T>
__aicore__ inline void RunWide(const KernelArguments& arguments) {
    RunAttention<T, CubeWide, VectorWide>(arguments);
}

}  // namespace ascend_attention
