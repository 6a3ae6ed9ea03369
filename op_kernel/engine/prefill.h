// SPDX-License-Identifier: Apache-2.0
// The prefill schedule, for step i of the tile walk:
//
//                 Lead(i)      Follow(i - 1)   Empty (a task that sees no key)
//   cube core     Scores       Partial         -
//   vector cores  Softmax      Update          WriteEmpty
//
// Q K^T of a tile is issued before P V of the tile before it, so the cube computes while the vector cores do the
// softmax. Ring slots are reused after three steps, which these waits already order: Partial(i - 1) has waited for the
// P of step i - 1, hence for the end of every earlier read of S and O_partial by the vector cores. The same wait frees
// the query buffer of that step's task: scores that the vector cores could read have used it for the last time.
#pragma once

#include "engine/cube_stages.h"
#include "engine/vector_stages.h"

namespace ascend_attention {

static_assert(kRingSlots >= 3, "a step, the one before it, and one that may still be read");

template <typename T>
struct CubePrefill {
    using Stages = CubeStages<T>;
    __aicore__ static inline void Lead(Stages& stages, const TileStep& step) { stages.Scores(step); }
    __aicore__ static inline void Follow(Stages& stages, const TileStep& step) { stages.Partial(step); }
    __aicore__ static inline void Empty(Stages&, const TileStep&) {}
};

template <typename T>
struct VectorPrefill {
    using Stages = VectorStages<T>;
    __aicore__ static inline void Lead(Stages& stages, const TileStep& step) { stages.Softmax(step); }
    __aicore__ static inline void Follow(Stages& stages, const TileStep& step) { stages.Update(step); }
    __aicore__ static inline void Empty(Stages& stages, const TileStep& step) { stages.WriteEmpty(step); }
};

template <typename Schedule>
__aicore__ inline void RunSchedule(const PlanReader& reader, uint32_t core, typename Schedule::Stages& stages) {
    TileWalk walk(reader, core);
    TileStep step;
    TileStep previous;
    bool follows = false;
    while (walk.Next(step)) {
        if (step.keys == 0) {
            Schedule::Empty(stages, step);
            continue;
        }
        Schedule::Lead(stages, step);
        if (follows) {
            Schedule::Follow(stages, previous);
        }
        previous = step;
        follows = true;
    }
    if (follows) {
        Schedule::Follow(stages, previous);
    }
    stages.Finish();
}

template <typename T>
__aicore__ inline void RunPrefill(const KernelArguments& arguments) {
    const PlanReader reader(arguments.plan);
    AscendC::TPipe pipe;
    if ASCEND_IS_AIC {
        const uint32_t core = uint32_t(AscendC::GetBlockIdx());
        CubeStages<T> stages(pipe, reader, arguments, core);
        RunSchedule<CubePrefill<T>>(reader, core, stages);
    }
    if ASCEND_IS_AIV {
        const uint32_t core = uint32_t(AscendC::GetBlockIdx()) / uint32_t(AscendC::GetSubBlockNum());
        VectorStages<T> stages(pipe, reader, arguments, core, uint32_t(AscendC::GetSubBlockIdx()));
        RunSchedule<VectorPrefill<T>>(reader, core, stages);
    }
}

}  // namespace ascend_attention
