// SPDX-License-Identifier: Apache-2.0
#include "cube/unit_flags.h"

#include <string>

#include "core/core.h"
#include "core/findings.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kFractalUnits = 1024 / kUnitBytes;

std::string KeyOf(const Call& call) {
    return std::string(call.name) + "|" + call.site.file + ":" + std::to_string(call.site.line) + "|unitFlag";
}

[[noreturn]] void Hangs(Core& core, const Call& call, std::uint64_t unit, const char* why) {
    core.Fail("flag",
              Describe(call) + " on " + core.name() + ": unit flag of L0C bytes [" + std::to_string(unit * kUnitBytes) +
                  ", " + std::to_string((unit + 1) * kUnitBytes) + ") " + why,
              KeyOf(call));
}

template <typename Function>
void ForEachUnit(const UnitSpan& span, Function function) {
    for (std::uint64_t strip = 0; strip < span.strips; ++strip) {
        const std::uint64_t first = (span.address + strip * span.strip_bytes) / kUnitBytes;
        for (std::uint64_t unit = first; unit < first + span.fractals * kFractalUnits && unit < kUnitCount; ++unit) {
            function(unit);
        }
    }
}

}  // namespace

void ProduceUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span) {
    access.Require(unit_flag == 0 || unit_flag == 2 || unit_flag == 3, "unitFlag", unit_flag, "0, 2, 3");
    if (unit_flag == 0) {
        return;
    }
    Core& core = access.core();
    ForEachUnit(span, [&](std::uint64_t unit) {
        // The instruction would wait for a Fixpipe that comes later in the program. The machine can run that; the
        // simulator executes in program order and says so.
        if (core.state.unit_flags[unit] != 0) {
            Hangs(core, call, unit,
                  "is still set: no Fixpipe with unitFlag 3 has taken the result before (not modelled)");
        }
        core.state.unit_flags[unit] = unit_flag == 3 ? 1 : 0;
    });
}

void ConsumeUnits(Access& access, const Call& call, std::uint32_t unit_flag, const UnitSpan& span) {
    access.Require(unit_flag == 0 || unit_flag == 2 || unit_flag == 3, "unitFlag", unit_flag, "0, 2, 3");
    if (unit_flag == 0) {
        return;
    }
    Core& core = access.core();
    ForEachUnit(span, [&](std::uint64_t unit) {
        if (core.state.unit_flags[unit] == 0) {
            Hangs(core, call, unit, "is not set: no Mmad with unitFlag 3 has handed it over, Fixpipe waits forever");
        }
        if (unit_flag == 3) {
            core.state.unit_flags[unit] = 0;
        }
    });
}

}  // namespace ascend_attention::sim
