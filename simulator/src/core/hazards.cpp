// SPDX-License-Identifier: Apache-2.0
#include "core/hazards.h"

namespace ascend_attention::sim {

namespace {

constexpr const char* kScalar = "PipeBarrier page: order within the scalar pipe is kept by hardware";
constexpr const char* kInOrder =
    "in-core synchronisation overview: a pipe starts its instructions in order, but a later one may start before an "
    "earlier one has finished";
constexpr const char* kVectorBarrier = "PipeBarrier page: a vector instruction that depends on an earlier one";
constexpr const char* kVectorReads =
    "vector unit: repeats issue in order and read before they write, so a later instruction cannot overtake a read; "
    "public kernels rely on it";
constexpr const char* kOverlap = "PipeBarrier page: copies of MTE2 or MTE3 with overlapping destinations";
constexpr const char* kAccumulate =
    "Mmad page: dependent accumulation with (m/16)(n/16) < 10 needs PipeBarrier<PIPE_M>";
constexpr const char* kFixpipe =
    "the public Fixpipe puts a barrier between parameters copied to the Fixpipe buffer and the store, the example of "
    "DataCopy from L0C has none";
constexpr const char* kOpen = "the documentation does not say";
constexpr const char* kNone = "no instruction of this pipe reads what it writes";

// Rows: pipes in the order of Pipe. Columns: read after write, write after read, write after write.
constexpr HazardRule kRules[kPipeCount][3] = {
    /* S    */ {{PipeOrder::kOrdered, kScalar}, {PipeOrder::kOrdered, kScalar}, {PipeOrder::kOrdered, kScalar}},
    /* V    */
    {{PipeOrder::kNeedsBarrier, kVectorBarrier},
     {PipeOrder::kOrdered, kVectorReads},
     {PipeOrder::kNeedsBarrier, kInOrder}},
    /* M    */
    {{PipeOrder::kNeedsBarrier, kAccumulate}, {PipeOrder::kOrdered, kInOrder}, {PipeOrder::kUndocumented, kOpen}},
    /* MTE1 */
    {{PipeOrder::kUndocumented, kNone}, {PipeOrder::kUndocumented, kNone}, {PipeOrder::kUndocumented, kOpen}},
    /* MTE2 */
    {{PipeOrder::kUndocumented, kNone}, {PipeOrder::kUndocumented, kNone}, {PipeOrder::kNeedsBarrier, kOverlap}},
    /* MTE3 */
    {{PipeOrder::kUndocumented, kNone}, {PipeOrder::kUndocumented, kNone}, {PipeOrder::kNeedsBarrier, kOverlap}},
    /* FIX  */
    {{PipeOrder::kUndocumented, kFixpipe}, {PipeOrder::kUndocumented, kOpen}, {PipeOrder::kUndocumented, kOpen}},
};

}  // namespace

HazardRule SamePipeRule(Pipe pipe, Hazard hazard) { return kRules[static_cast<int>(pipe)][static_cast<int>(hazard)]; }

const char* NameOf(Hazard hazard) {
    static const char* const kNames[] = {"read after write", "write after read", "write after write"};
    return kNames[static_cast<int>(hazard)];
}

}  // namespace ascend_attention::sim
