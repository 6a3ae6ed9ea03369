// SPDX-License-Identifier: Apache-2.0
// A recorded run as a timeline shows it: what each pipe did when, what it waited for in between, and who told whom.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "timing/record.h"

namespace ascend_attention::sim {

// The part of a run that is asked for. Times are whole nanoseconds: a viewer of traces keeps no more.
struct TraceWindow {
    std::int64_t begin = 0;
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
    std::vector<bool> cores;  // by core; empty: all

    bool Has(std::size_t core) const { return cores.empty() || cores[core]; }
    bool Has(std::int64_t from, std::int64_t to) const {
        return from < end && (to > begin || (from == to && from >= begin));
    }
};

// One bar on the track of a pipe. Bars of one track come in order and do not overlap.
struct TraceBar {
    std::size_t core = 0;
    Pipe pipe = Pipe::kScalar;
    bool wait = false;  // before `step`, or of the scalar unit at it
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t step = 0;
};

// A flag: from the instruction whose completion it told to the first one that waited for it.
struct TraceArrow {
    StepRef from;
    StepRef to;
    std::int64_t begin = 0;  // inside of the bar of `from`
    std::int64_t end = 0;    // where that of `to` begins
    bool cross_core = false;
};

class TraceVisitor {
public:
    virtual ~TraceVisitor() = default;
    virtual void Bar(const TraceBar& bar) = 0;
    virtual void Arrow(const TraceArrow& arrow) = 0;
};

// Core after core, each in program order.
void WalkTrace(const RunRecord& record, const TraceWindow& window, TraceVisitor& visitor);

// "block 0 AIC M Mmad (kernel.cpp:42)"
std::string DescribeStep(const RunRecord& record, StepRef step);
// What a bar waited for, or an instruction last: "flag", "barrier", "other core", "scalar unit", ...
const char* DescribeWait(const RunRecord& record, const TraceBar& bar);

}  // namespace ascend_attention::sim
