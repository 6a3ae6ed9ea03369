// SPDX-License-Identifier: Apache-2.0
// A part of a recorded run as a picture needs it: bars no finer than the picture shows, and where to look.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "timing/trace_walk.h"

namespace ascend_attention::sim {

struct PictureBar {
    std::size_t core = 0;
    Pipe pipe = Pipe::kScalar;
    bool wait = false;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const char* name = "";  // the instruction, or what is waited for
};

struct Picture {
    std::vector<PictureBar> bars;
    std::vector<TraceArrow> arrows;  // of cross-core flags, `from` and `to` with their pipes
};

// Neighbours on a track that are shorter than `resolution` become one bar, with the name that took most of the time.
ASCEND_SIM_API Picture Draw(const RunRecord& record, const TraceWindow& window, std::int64_t resolution);

// Some rounds in the middle of the run, of what the cores of the window do again and again: from one time that the same
// line waits for the same flag to the next. The whole run when nothing repeats.
ASCEND_SIM_API std::pair<std::int64_t, std::int64_t> SteadyPart(const RunRecord& record, const TraceWindow& window,
                                                                std::size_t rounds);

}  // namespace ascend_attention::sim
