// SPDX-License-Identifier: Apache-2.0
#include "cube/unit_flags.h"

#include <string>

#include "core/core.h"
#include "core/findings.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kFractalBytes = 1024;

std::string KeyOf(const Call& call) {
    return std::string(call.name) + "|" + call.site.file + ":" + std::to_string(call.site.line) + "|unitFlag";
}

[[noreturn]] void Hangs(Core& core, const Call& call, std::uint64_t unit, const char* why) {
    core.Fail("flag",
              Describe(call) + " on " + core.name() + ": the unit flag of L0C bytes [" +
                  std::to_string(unit * kUnitFlagBytes) + ", " + std::to_string((unit + 1) * kUnitFlagBytes) + ") " +
                  why,
              KeyOf(call));
}

template <typename Function>
void ForEachStrip(const UnitSpan& span, Function function) {
    for (std::uint64_t strip = 0; strip < span.strips; ++strip) {
        function(Region{strip * span.strip_bytes, span.fractals * kFractalBytes});
    }
}

template <typename Function>
void ForEachUnit(const UnitSpan& span, Function function) {
    ForEachStrip(span, [&](const Region& region) {
        const std::uint64_t first = (span.matrix.address + region.offset) / kUnitFlagBytes;
        for (std::uint64_t unit = first; unit < first + region.bytes / kUnitFlagBytes && unit < kUnitFlagCount;
             ++unit) {
            function(unit);
        }
    });
}

}  // namespace

void WaitForUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span) {
    access.Require(unit_flag == 0 || unit_flag == 2 || unit_flag == 3, "unitFlag", unit_flag, "0, 2, 3");
    if (unit_flag == 0) {
        return;
    }
    Core& core = access.core();
    const bool produces = call.pipe == Pipe::kCube;
    ForEachUnit(span, [&](std::uint64_t unit) {
        const bool set = core.state.unit_flags[unit] != 0;
        if (produces && set) {
            // The machine would go on when a Fixpipe further down the program has taken the result. The simulator
            // executes in program order and says so.
            Hangs(core, call, unit, "is still set: no Fixpipe with unitFlag 3 before this call took it (not modelled)");
        }
        if (!produces && !set) {
            Hangs(core, call, unit, "is not set: no Mmad with unitFlag 3 handed it over, so Fixpipe waits forever");
        }
    });
    ForEachStrip(span, [&](const Region& region) { access.AcquireUnits(span.matrix, region); });
    if (EventRecorder* recorder = core.recorder()) {
        ForEachUnit(span, [&](std::uint64_t unit) { recorder->WaitsForUnit(unit, produces); });
        recorder->UnitFlag(unit_flag);
    }
}

void HandOverUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span) {
    if (unit_flag != 3) {
        return;
    }
    const std::uint8_t next = call.pipe == Pipe::kCube ? 1 : 0;
    ForEachUnit(span, [&](std::uint64_t unit) { access.core().state.unit_flags[unit] = next; });
    ForEachStrip(span, [&](const Region& region) { access.ReleaseUnits(span.matrix, region); });
    if (EventRecorder* recorder = access.core().recorder()) {
        ForEachUnit(span, [&](std::uint64_t unit) { recorder->HandsOverUnit(unit, call.pipe == Pipe::kCube); });
    }
}

}  // namespace ascend_attention::sim
