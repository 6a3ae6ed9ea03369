// SPDX-License-Identifier: Apache-2.0
// The prefill schedule, for step i of the tile walk:
//
//   cube core     Scores(i)    Partial(i - 1)
//   vector cores  Softmax(i)   Update(i - 1)
//
// Q K^T of a tile is issued before P V of the tile before it, so the cube computes while the vector cores do the
// softmax. Ring slots are reused after three steps, which these waits already order: Partial(i - 1) has waited for the
// P of step i - 1, hence for the end of every earlier read of S and O_partial by the vector cores.
#pragma once

#include "engine/cube_stages.h"
#include "engine/vector_stages.h"

namespace ascend_attention {

static_assert(kRingSlots >= 3, "a step, the one before it, and one that may still be read");

template <typename T>
__aicore__ inline void RunCubePrefill(const PlanReader& reader, const KernelArguments& arguments) {
    const uint32_t core = uint32_t(AscendC::GetBlockIdx());
    AscendC::TPipe pipe;
    CubeStages<T> stages(pipe, reader, arguments, core);
    TileWalk walk(reader, core);
    TileStep step;
    TileStep previous;
    bool has_previous = false;
    while (walk.Next(step)) {
        if (step.keys == 0) {
            continue;
        }
        stages.Scores(step);
        if (has_previous) {
            stages.Partial(previous);
        }
        previous = step;
        has_previous = true;
    }
    if (has_previous) {
        stages.Partial(previous);
    }
    stages.Finish();
}

template <typename T>
__aicore__ inline void RunVectorPrefill(const PlanReader& reader, const KernelArguments& arguments) {
    const uint32_t core = uint32_t(AscendC::GetBlockIdx()) / uint32_t(AscendC::GetSubBlockNum());
    AscendC::TPipe pipe;
    VectorStages<T> stages(pipe, reader, arguments, core, uint32_t(AscendC::GetSubBlockIdx()));
    TileWalk walk(reader, core);
    TileStep step;
    TileStep previous;
    bool has_previous = false;
    while (walk.Next(step)) {
        if (step.keys == 0) {
            stages.WriteEmpty(step);
            continue;
        }
        stages.Softmax(step);
        if (has_previous) {
            stages.Update(previous);
        }
        previous = step;
        has_previous = true;
    }
    if (has_previous) {
        stages.Update(previous);
    }
    stages.Finish();
}

template <typename T>
__aicore__ inline void RunPrefill(const KernelArguments& arguments) {
    const PlanReader reader(arguments.plan);
    if ASCEND_IS_AIC {
        RunCubePrefill<T>(reader, arguments);
    }
    if ASCEND_IS_AIV {
        RunVectorPrefill<T>(reader, arguments);
    }
}

}  // namespace ascend_attention
