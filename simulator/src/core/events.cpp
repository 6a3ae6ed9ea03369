// SPDX-License-Identifier: Apache-2.0
// SetFlag, WaitFlag and PipeBarrier inside one core.
#include <string>

#include "core/access.h"
#include "core/checker.h"
#include "core/machine.h"
#include "core/sync.h"
#include "core/sync_trace.h"
#include "machine/core_calls.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint8_t Bit(Pipe pipe) { return static_cast<std::uint8_t>(1U << static_cast<int>(pipe)); }

// Pairs that exist on a cube core: row = source, bits = targets. FIX <-> MTE2 and FIX -> MTE3 exist without a
// documented use and are accepted. Every pair of S, V, MTE2, MTE3 exists on a vector core. The documentation lists no
// use for the scalar unit's pairs on a cube core either, but the device headers issue those that HardEvent names there
// and the vendor's own library code waits on them: accepted with a warning.
constexpr std::uint8_t kCubeTargets[kPipeCount] = {
    /* S    */ 0,
    /* V    */ 0,
    /* M    */ static_cast<std::uint8_t>(Bit(Pipe::kMte1) | Bit(Pipe::kMte2) | Bit(Pipe::kFixpipe)),
    /* MTE1 */
    static_cast<std::uint8_t>(Bit(Pipe::kCube) | Bit(Pipe::kMte2) | Bit(Pipe::kMte3) | Bit(Pipe::kFixpipe)),
    /* MTE2 */
    static_cast<std::uint8_t>(Bit(Pipe::kCube) | Bit(Pipe::kMte1) | Bit(Pipe::kMte3) | Bit(Pipe::kFixpipe)),
    /* MTE3 */ static_cast<std::uint8_t>(Bit(Pipe::kMte1) | Bit(Pipe::kMte2)),
    /* FIX  */
    static_cast<std::uint8_t>(Bit(Pipe::kCube) | Bit(Pipe::kMte1) | Bit(Pipe::kMte2) | Bit(Pipe::kMte3)),
};
constexpr std::uint8_t kVectorPipes =
    static_cast<std::uint8_t>(Bit(Pipe::kScalar) | Bit(Pipe::kVector) | Bit(Pipe::kMte2) | Bit(Pipe::kMte3));
constexpr std::uint8_t kCubePipes =
    static_cast<std::uint8_t>(Bit(Pipe::kScalar) | Bit(Pipe::kCube) | Bit(Pipe::kMte1) | Bit(Pipe::kMte2) |
                              Bit(Pipe::kMte3) | Bit(Pipe::kFixpipe));

bool IsUndocumented(CoreType type, Pipe source, Pipe target) {
    constexpr int kToScalar = Bit(Pipe::kCube) | Bit(Pipe::kMte2) | Bit(Pipe::kMte3) | Bit(Pipe::kFixpipe);
    constexpr int kFromScalar = Bit(Pipe::kMte2) | Bit(Pipe::kMte3);
    return type == CoreType::kCube && ((target == Pipe::kScalar && (kToScalar & Bit(source)) != 0) ||
                                       (source == Pipe::kScalar && (kFromScalar & Bit(target)) != 0));
}

bool PairExists(CoreType type, Pipe source, Pipe target) {
    if (source == target) {
        return false;
    }
    if (type == CoreType::kCube) {
        return (kCubeTargets[static_cast<int>(source)] & Bit(target)) != 0 || IsUndocumented(type, source, target);
    }
    return (kVectorPipes & Bit(source)) != 0 && (kVectorPipes & Bit(target)) != 0;
}

std::string EventName(Pipe source, Pipe target, int id) {
    return std::string("<HardEvent::") + NameOf(source) + "_" + NameOf(target) + ">(" + std::to_string(id) + ")";
}

EventState& Event(Core& core, const Call& call, Pipe source, Pipe target, int id, bool framework) {
    core.CountInstruction(call);
    if (id < 0 || id >= kEventIds) {
        core.Fail("parameter",
                  Describe(call) + " on " + core.name() + ": eventID is " + std::to_string(id) + ", allowed: 0..7",
                  SiteKey(call.site));
    }
    if (!PairExists(core.type(), source, target)) {
        core.Fail("flag",
                  Describe(call) + " on " + core.name() + ": the pair " + NameOf(source) + "_" + NameOf(target) +
                      " does not exist on this core type",
                  SiteKey(call.site));
    }
    CoreSync& sync = core.sync();
    if (id >= 6 && !framework && !sync.warned_event_id) {
        sync.warned_event_id = true;
        core.Report(Severity::kWarning, "flag",
                    Describe(call) + " on " + core.name() + " uses event id " + std::to_string(id) +
                        ": ids 6 and 7 are reserved for the framework",
                    SiteKey(call.site));
    }
    return sync.event(source, target, id);
}

}  // namespace

void SetEvent(Pipe source, Pipe target, int id, bool framework, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding()) {
        return;  // a destructor of device code, while the stack unwinds
    }
    const Call call{"SetFlag", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, source, target, -1, id, framework, site})) {
        return;
    }
    EventState& event = Event(core, call, source, target, id, framework);
    if (IsUndocumented(core.type(), source, target) && !framework) {
        core.Report(Severity::kWarning, "flag",
                    Describe(call) + " on " + core.name() + ": the documentation lists no use of the pair " +
                        NameOf(source) + "_" + NameOf(target) + " on a cube core",
                    SiteKey(call.site) + "|" + NameOf(source) + NameOf(target));
    }
    if (event.set) {
        core.Report(Severity::kError, "flag",
                    "SetFlag" + EventName(source, target, id) + " (" + BaseName(site.file) + ":" +
                        std::to_string(site.line) + ") on " + core.name() + " sets an event that " +
                        Describe("SetFlag", event.site) + " has set and nothing has waited for",
                    SiteKey(site) + "|" + SiteKey(event.site));
    }
    event.set = true;
    event.site = site;
    if (core.recorder() != nullptr) {
        core.recorder()->Sync(StepKind::kSet, source, static_cast<int>(target), id, site);
    }
    if (core.checker() != nullptr) {
        event.clock = core.checker()->Published(source);
    }
}

void WaitEvent(Pipe source, Pipe target, int id, bool framework, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding()) {
        return;  // a destructor of device code, while the stack unwinds
    }
    const Call call{"WaitFlag", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, source, target, -1, id, framework, site})) {
        return;
    }
    EventState& event = Event(core, call, source, target, id, framework);
    if (!event.set) {
        // A waiting scalar unit issues no set any more. Another pipe only holds up its own instructions: on the device
        // a later set would release it.
        const bool hangs = target == Pipe::kScalar;
        core.Fail(hangs ? "deadlock" : "not modelled",
                  "WaitFlag" + EventName(source, target, id) + " (" + BaseName(site.file) + ":" +
                      std::to_string(site.line) + ") on " + core.name() +
                      " waits for an event that no SetFlag before it in program order has set: " +
                      (hangs ? "the scalar unit waits itself, so no later one can: the core hangs"
                             : "without a later one the pipe hangs, and an order with a later one is not modelled"),
                  SiteKey(site));
    }
    event.set = false;
    if (core.recorder() != nullptr) {
        core.recorder()->Sync(StepKind::kWait, source, static_cast<int>(target), id, site);
    }
    if (core.checker() != nullptr) {
        // When the scalar unit itself waits it issues nothing, so everything issued later is ordered too.
        if (target == Pipe::kScalar) {
            core.checker()->JoinAll(event.clock);
        } else {
            core.checker()->Join(target, event.clock);
        }
    }
}

void DropEvent(Pipe source, Pipe target, const char* name, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding()) {
        return;
    }
    core.Report(
        Severity::kWarning, "flag",
        Describe(name, site) + " on " + core.name() + ": the pair " + NameOf(source) + "_" + NameOf(target) +
            " does not exist on this core type; the device headers of CANN 9 drop the call, those of CANN 8 set "
            "the flag and never wait for it",
        SiteKey(site) + "|" + NameOf(source) + NameOf(target));
}

void Barrier(Pipe pipe, Site site, bool framework) {
    Core& core = CurrentCore();
    if (core.Unwinding() || IgnoresSync(core, SyncPoint{"PipeBarrier", pipe, pipe, -1, -1, framework, site})) {
        return;
    }
    PassBarrier(core, pipe, site);
}

void PassBarrier(Core& core, Pipe pipe, Site site) {
    const Call call{"PipeBarrier", Pipe::kScalar, site};
    core.CountInstruction(call);
    const std::uint8_t pipes = core.type() == CoreType::kCube ? kCubePipes : kVectorPipes;
    if (pipe == Pipe::kScalar || (pipe != Pipe::kAll && (pipes & Bit(pipe)) == 0)) {
        core.Fail("parameter",
                  Describe(call) + " on " + core.name() + ": PipeBarrier<PIPE_" + NameOf(pipe) +
                      "> does not exist on this core type",
                  SiteKey(site));
    }
    if (core.recorder() != nullptr) {
        core.recorder()->Sync(StepKind::kBarrier, pipe, 0, 0, site);
    }
    if (core.checker() == nullptr) {
        return;
    }
    if (pipe == Pipe::kAll) {
        core.checker()->BarrierAll();
    } else {
        core.checker()->Barrier(pipe);
    }
}

int FetchEvent(Pipe source, Pipe target, Site site) {
    Core& core = CurrentCore();
    const std::uint8_t taken = core.sync().taken_ids(source, target);
    for (int id = 0; id < kEventIds; ++id) {
        if ((taken >> id & 1) == 0) {
            return id;
        }
    }
    core.Fail("flag",
              Describe("AllocEventID", site) + " on " + core.name() + ": all eight ids of " + NameOf(source) + "_" +
                  NameOf(target) + " are taken",
              SiteKey(site));
}

void PassFlag(Pipe source, Pipe target, Site site) {
    const int id = FetchEvent(source, target, site);
    SetEvent(source, target, id, true, site);
    WaitEvent(source, target, id, true, site);
}

int AllocEvent(Pipe source, Pipe target, Site site) {
    const int id = FetchEvent(source, target, site);
    CurrentCore().sync().taken_ids(source, target) |= static_cast<std::uint8_t>(1U << id);
    return id;
}

void ReleaseEvent(Pipe source, Pipe target, int id, Site site) {
    RequireUse(id >= 0 && id < kEventIds, "ReleaseEventID", "the id must be 0..7", site);
    Core& core = CurrentCore();
    std::uint8_t& taken = core.sync().taken_ids(source, target);
    if ((taken >> id & 1) == 0) {  // without effect here, but it frees an id that somebody else takes meanwhile
        core.Report(Severity::kWarning, "flag",
                    Describe("ReleaseEventID", site) + " on " + core.name() + " releases id " + std::to_string(id) +
                        " of " + NameOf(source) + "_" + NameOf(target) + ", which AllocEventID has not given out",
                    SiteKey(site));
    }
    taken &= static_cast<std::uint8_t>(~(1U << id));
}

void ReportLeftoverEvents(Core& core) {
    for (int source = 0; source < kPipeCount; ++source) {
        for (int target = 0; target < kPipeCount; ++target) {
            for (int id = 0; id < kEventIds; ++id) {
                const EventState& event = core.sync().event(static_cast<Pipe>(source), static_cast<Pipe>(target), id);
                if (event.set) {
                    core.Report(
                        Severity::kError, "flag",
                        "SetFlag" + EventName(static_cast<Pipe>(source), static_cast<Pipe>(target), id) + " (" +
                            BaseName(event.site.file) + ":" + std::to_string(event.site.line) + ") on " + core.name() +
                            " is never waited for: the event stays set and the next kernel sees it",
                        SiteKey(event.site) + "|leftover|" + std::to_string(source) + "|" + std::to_string(target));
                }
            }
        }
    }
}

}  // namespace ascend_attention::sim
