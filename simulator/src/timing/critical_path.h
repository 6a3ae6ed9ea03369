// SPDX-License-Identifier: Apache-2.0
// The chain of instructions that decides when the launch ends: from its last result back over what each instruction had
// to wait for last.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "timing/replay.h"

namespace ascend_attention::sim {

// What the time between the start of an instruction and the start of the next one on the path went into.
enum class PathPart : std::uint8_t {
    kWork,       // the instruction itself
    kMemory,     // bandwidth of L2 or HBM that others had taken
    kLatency,    // from the end of its work until its result is there
    kFlag,       // SetFlag to WaitFlag, barriers
    kUnitFlag,   // Mmad and Fixpipe waiting for each other's units of L0C
    kCrossFlag,  // CrossCoreSetFlag to CrossCoreWaitFlag
    kIssue,      // the scalar unit
};
inline constexpr int kPathPartCount = 7;

// All instructions of one line of the kernel that lie on the path.
struct PathSite {
    const char* instruction = "";
    Site site{"", 0};
    Pipe pipe = Pipe::kScalar;
    bool cube = false;
    double cycles = 0;
    std::uint64_t count = 0;
    Cause waits_for = Cause::kStart;  // what delayed most of them
};

struct CriticalPath {
    double cycles = 0;
    std::uint64_t instructions = 0;
    std::array<double, kPathPartCount> parts{};
    std::array<double, kPipeCount> by_pipe{};  // work, memory and latency of the instructions of each pipe
    std::vector<PathSite> sites;               // by cycles, most first
};

CriticalPath FindCriticalPath(const std::vector<ReplayCore>& cores, const Timeline& timeline);

}  // namespace ascend_attention::sim
