// SPDX-License-Identifier: Apache-2.0
// The prefill schedule, for step i of the tile walk:
//
//                 Lead(i)      Follow(i - 2)   Empty (a row tile that sees no key)
//   cube core     Scores       Partial         -
//   vector cores  Softmax      Output          WriteEmpty
//
// Q K^T runs two steps ahead of P V, so neither side waits for the other's latest work, and the pipeline does not drain
// between tasks. Ring slots are reused after three steps, which these waits already order: before Lead(i) the cube core
// has waited for the P of step i - 3, hence for the end of every earlier read of S and O_partial by the vector cores,
// and S of step i is told after the P of step i - 3 has been read.
//
// Where keys are selected, a pre-pass of the vector cores makes the key lists that all cores find their work with.
#pragma once

#include "engine/combine_stage.h"
#include "engine/cube_stages.h"
#include "engine/output_stage.h"
#include "engine/select_stage.h"
#include "engine/softmax_stage.h"
#include "engine/work_share.h"

namespace ascend_attention {

template <typename T>
struct CubePrefill {
    using Heads = NarrowHeads;
    using Stages = CubeStages<T>;
    __aicore__ static inline void Lead(Stages& stages, const TileStep& step) { stages.Scores(step); }
    __aicore__ static inline void Follow(Stages& stages, const TileStep& step) { stages.Partial(step); }
    __aicore__ static inline void Empty(Stages&, const TileStep&) {}
};

template <typename T, typename Heads>
struct VectorStages {
    VectorBuffers<T, Heads>& buffers;
    SoftmaxStage<T, Heads> softmax;
    OutputStage<T, Heads> output;
    CombineStage<T, Heads>& combine;

    __aicore__ inline void Finish() {
        output.WaitForPart();
        combine.Run();
        buffers.Finish();
    }
};

template <typename T, typename HeadsOf>
struct VectorPrefill {
    using Heads = HeadsOf;
    using Stages = VectorStages<T, Heads>;
    __aicore__ static inline void Lead(Stages& stages, const TileStep& step) { stages.softmax.Run(step); }
    __aicore__ static inline void Follow(Stages& stages, const TileStep& step) { stages.output.Run(step, 0); }
    __aicore__ static inline void Empty(Stages& stages, const TileStep& step) { stages.output.WriteEmpty(step); }
};

template <typename Schedule>
__aicore__ inline void RunSchedule(const KeyTileWalk& tiles, typename Schedule::Stages& stages) {
    constexpr int32_t kStepsBehind = Schedule::Heads::kStepsBehind;
    StepWalk walk(tiles);
    TileStep step;
    TileStep behind[kStepsBehind];
    uint32_t leads = 0;
    uint32_t follows = 0;
    while (walk.Next(step)) {
        if (step.KeyCount() == 0) {
            Schedule::Empty(stages, step);
            continue;
        }
        Schedule::Lead(stages, step);
        if (leads++ >= kStepsBehind) {
            Schedule::Follow(stages, behind[follows++ % kStepsBehind]);
        }
        behind[step.step % kStepsBehind] = step;
    }
    while (follows < leads) {
        Schedule::Follow(stages, behind[follows++ % kStepsBehind]);
    }
    stages.Finish();
}

template <typename T, template <typename> class CubeSchedule, template <typename, typename> class VectorSchedule>
__aicore__ inline void RunAttention(const KernelArguments& arguments) {
    using Cube = CubeSchedule<T>;
    using Heads = typename Cube::Heads;
    const PlanReader reader(arguments.plan);
    const AttentionPlan& plan = reader.Plan();
    const KeyLists lists(plan, arguments);
    const bool selects = plan.key_placement == KeyPlacement::kSelected;
    AscendC::TPipe pipe;
    if ASCEND_IS_AIC {
        const uint32_t core = uint32_t(AscendC::GetBlockIdx());
        if (selects) {
            AscendC::CrossCoreWaitFlag(CrossCoreFlag::kCubeWaitsForLists);
        }
        const WorkShare share(reader, lists, kVectorsPerCube * plan.core_count);
        const KeyTileWalk walk(reader, lists, share.Of(core), core);
        typename Cube::Stages stages(pipe, reader, arguments, walk, core);
        RunSchedule<Cube>(walk, stages);
    }
    if ASCEND_IS_AIV {
        const uint32_t vector_core = uint32_t(AscendC::GetBlockIdx());
        const uint32_t vectors = uint32_t(AscendC::GetSubBlockNum());  // of an AI core
        const uint32_t core = vector_core / vectors;
        GM_ADDR rings = arguments.workspace + uint64_t(core) * plan.workspace_core_stride;
        VectorBuffers<T, Heads> buffers(pipe, plan, uint32_t(AscendC::GetSubBlockIdx()));
        if (selects) {
            SelectStage<T, Heads>(buffers, reader, lists, arguments, vector_core, vectors * plan.core_count).Run();
        }
        const WorkShare share(reader, lists, kVectorsPerCube * plan.core_count);
        const CoreRange range = share.Of(core);
        const KeyTileWalk walk(reader, lists, range, core);
        FinishedRows<T, Heads> finished(buffers, plan, arguments);
        CombineStage<T, Heads> combine(buffers, finished, reader, arguments, range, vector_core,
                                       vectors * plan.core_count);
        typename VectorSchedule<T, Heads>::Stages stages{VectorStages<T, Heads>{
            buffers, SoftmaxStage<T, Heads>(buffers, combine, plan, arguments, rings),
            OutputStage<T, Heads>(buffers, finished, combine, plan, arguments, rings, core), combine}};
        RunSchedule<VectorSchedule<T, Heads>>(walk, stages);
    }
}

template <typename T>
__aicore__ inline void RunPrefill(const KernelArguments& arguments) {
    RunAttention<T, CubePrefill, VectorPrefill>(arguments);
}

}  // namespace ascend_attention
