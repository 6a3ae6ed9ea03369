// SPDX-License-Identifier: Apache-2.0
// CrossCoreSetFlag, CrossCoreWaitFlag and SyncAll.
#include <string>

#include "core/checker.h"
#include "core/fiber.h"
#include "core/machine.h"
#include "core/sync.h"
#include "core/sync_trace.h"
#include "machine/core_calls.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

// Flags of SyncAll as the headers of both generations use them.
constexpr int kSyncCubes = 11;
constexpr int kSyncVectorsToCube = 12;
constexpr int kSyncCubeToVectors = 13;
constexpr int kSyncVectors = 14;

void Wait(Core& core, const Call& call, int flag) {
    if (core.Unwinding()) {
        return;  // a destructor of device code, while the stack unwinds
    }
    core.CountInstruction(call);
    CrossCoreFlags& flags = core.machine().flags();
    core.waits_for = call;
    core.waits_for_flag = flag;
    while (!flags.Ready(core, flag)) {
        YieldFiber();
        if (core.machine().stopping()) {
            core.End();
        }
    }
    core.waits_for.name = nullptr;
    flags.Consume(core, flag);
    if (core.recorder() != nullptr) {
        core.recorder()->Sync(StepKind::kCrossWait, Pipe::kScalar, 0, flag, call.site);
    }
}

void Set(Core& core, int mode, const Call& call, int flag) {
    if (core.Unwinding()) {
        return;
    }
    core.CountInstruction(Call{call.name, Pipe::kScalar, call.site});
    core.machine().flags().Set(core, mode, call, flag);
    if (core.recorder() != nullptr) {
        core.recorder()->Sync(StepKind::kCrossSet, call.pipe, mode, flag, call.site);
    }
}

}  // namespace

std::string FlagName(int flag) { return "flag " + std::to_string(flag); }

void CrossCoreFlags::Prepare() {
    std::vector<Counter> counters(machine_.cores().size() * kFlagIds);
    counters_.swap(counters);
}

bool CrossCoreFlags::Ready(const Core& core, int flag) const {
    return counter(core, flag).count.load(std::memory_order_acquire) > 0;
}

void CrossCoreFlags::Consume(Core& core, int flag) {
    Counter& mine = counter(core, flag);
    mine.count.fetch_sub(1, std::memory_order_acq_rel);
    if (core.checker() != nullptr) {
        core.checker()->JoinAll(mine.clocks.Pop());
    }
}

void CrossCoreFlags::Raise(Core& target, int flag, const Clock& clock, Core& setter, const Call& call) {
    Counter& counter_of_target = counter(target, flag);
    counter_of_target.last_set = call.site;
    if (target.checker() != nullptr) {
        counter_of_target.clocks.Push(clock);
    }
    const int count = counter_of_target.count.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (count > kFlagLimit) {
        setter.Fail("flag",
                    Describe(call) + " on " + setter.name() + " raises " + FlagName(flag) + " of " + target.name() +
                        " to " + std::to_string(count) + ": a counter holds at most 15 sets that nobody has waited for",
                    SiteKey(call.site));
    }
}

std::vector<Core*> CrossCoreFlags::SameType(const Core& core) {
    std::vector<Core*> result;
    for (const std::unique_ptr<Core>& other : machine_.cores()) {
        if (other->type() == core.type()) {
            result.push_back(other.get());
        }
    }
    return result;
}

void CrossCoreFlags::Gather(const std::vector<Core*>& participants, const std::vector<Core*>& targets, Core& setter,
                            const Call& call, int flag) {
    Counter& mine = counter(setter, flag);
    mine.last_set = call.site;
    if (setter.checker() != nullptr) {
        mine.given_clocks.Push(setter.checker()->Published(call.pipe));
    }
    if (mine.given.fetch_add(1, std::memory_order_acq_rel) + 1 > kFlagLimit) {
        setter.Fail("flag",
                    Describe(call) + " on " + setter.name() + " sets " + FlagName(flag) +
                        " a sixteenth time while other participants have not set it once: a counter holds at most 15",
                    SiteKey(call.site));
    }
    for (Core* participant : participants) {
        if (counter(*participant, flag).given.load(std::memory_order_acquire) == 0) {
            return;
        }
    }
    Clock joined;
    for (Core* participant : participants) {
        Counter& part = counter(*participant, flag);
        part.given.fetch_sub(1, std::memory_order_acq_rel);
        if (participant->checker() != nullptr) {
            joined.Join(part.given_clocks.Pop());
        }
    }
    for (Core* target : targets) {
        Raise(*target, flag, joined, setter, call);
    }
}

void CrossCoreFlags::Set(Core& core, int mode, const Call& call, int flag) {
    Counter& mine = counter(core, flag);
    if (mine.last_mode >= 0 && mine.last_mode != mode && (mine.given.load() > 0 || mine.count.load() > 0)) {
        core.Fail("flag",
                  Describe(call) + " on " + core.name() + " uses " + FlagName(flag) + " in mode " +
                      std::to_string(mode) + " while sets of mode " + std::to_string(mine.last_mode) +
                      " are still pending on it",
                  SiteKey(call.site));
    }
    mine.last_mode = mode;
    RaiseOf(core, mode, call, flag);
    if (mode == 0) {
        machine_.Progress();
    }
}

void CrossCoreFlags::RaiseOf(Core& core, int mode, const Call& call, int flag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (mode == 0) {
        const std::vector<Core*> all = SameType(core);
        Gather(all, all, core, call, flag);
        return;
    }
    const std::uint32_t block = core.identity().block;
    const std::vector<Core*> vectors = machine_.vectors(block);
    if (mode == 1) {
        Gather(vectors, vectors, core, call, flag);
    } else if (core.type() == CoreType::kVector) {
        Gather(vectors, {&machine_.core(block, CoreType::kCube, 0)}, core, call, flag);
    } else {
        const Clock clock = core.checker() != nullptr ? core.checker()->Published(call.pipe) : Clock();
        for (Core* vector : vectors) {
            Raise(*vector, flag, clock, core, call);
        }
    }
}

void CrossCoreFlags::ReportLeftovers() {
    for (const std::unique_ptr<Core>& core : machine_.cores()) {
        for (int flag = 0; flag < kFlagIds; ++flag) {
            const Counter& left = counter(*core, flag);
            const int count = left.count.load();
            if (count > 0) {
                core->Report(Severity::kError, "flag",
                             FlagName(flag) + " of " + core->name() + " still holds " + std::to_string(count) +
                                 (count == 1 ? " set" : " sets") + " when the kernel ends, the last by " +
                                 Describe("CrossCoreSetFlag", left.last_set) + ": the next kernel sees it",
                             SiteKey(left.last_set) + "|left|" + std::to_string(flag));
            }
            if (left.given.load() > 0) {
                core->Report(Severity::kError, "flag",
                             Describe("CrossCoreSetFlag", left.last_set) + " on " + core->name() + " set " +
                                 FlagName(flag) + ", but not every participant of its mode did before the kernel ended",
                             SiteKey(left.last_set) + "|given|" + std::to_string(flag));
            }
        }
    }
}

void CrossCoreSet(int mode, Pipe pipe, int flag, Site site) {
    Core& core = CurrentCore();
    const Call call{"CrossCoreSetFlag", pipe, site};
    if (IgnoresSync(core, SyncPoint{call.name, pipe, pipe, mode, flag, false, site})) {
        return;
    }
    const auto require = [&](bool ok, const std::string& problem) {
        if (!ok) {
            core.Fail("parameter", Describe(call) + " on " + core.name() + ": " + problem, SiteKey(site));
        }
    };
    require(mode >= 0 && mode <= 2, "modeId is " + std::to_string(mode) + ", allowed: 0, 1, 2");
    require(flag >= 0 && flag < kFlagIds, "flagId is " + std::to_string(flag) + ", allowed: 0..15");
    require(pipe != Pipe::kScalar && pipe != Pipe::kAll, "PIPE_S and PIPE_ALL cannot set a cross-core flag");
    const bool has_pipe = core.type() == CoreType::kCube
                              ? pipe != Pipe::kVector
                              : pipe == Pipe::kVector || pipe == Pipe::kMte2 || pipe == Pipe::kMte3;
    require(has_pipe, std::string("this core has no pipe ") + NameOf(pipe));
    require(mode == 0 || IsMix(core.machine().kind()), "modes 1 and 2 exist only in mix kernels");
    require(mode != 1 || core.type() == CoreType::kVector, "mode 1 is between vector cores");
    if (flag >= kSyncCubes && !core.sync().warned_flag_id) {
        core.sync().warned_flag_id = true;
        const bool sync = flag <= kSyncVectors;
        core.Report(Severity::kWarning, "flag",
                    Describe(call) + " on " + core.name() + " uses flag " + std::to_string(flag) +
                        (sync ? ": 11 to 14 belong to SyncAll" : ": older documents allow 0 to 10 only"),
                    SiteKey(site));
    }
    Set(core, mode, call, flag);
}

void CrossCoreWait(int flag, Site site) {
    Core& core = CurrentCore();
    const Call call{"CrossCoreWaitFlag", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, Pipe::kAll, Pipe::kAll, -1, flag, false, site})) {
        return;
    }
    if (flag < 0 || flag >= kFlagIds) {
        core.Fail("parameter",
                  Describe(call) + " on " + core.name() + ": flagId is " + std::to_string(flag) + ", allowed: 0..15",
                  SiteKey(site));
    }
    Wait(core, call, flag);
}

void SyncAllCores(bool vector_only, Site site) {
    Core& core = CurrentCore();
    const Call wait{"SyncAll", Pipe::kScalar, site};
    const Call set_mte3{"SyncAll", Pipe::kMte3, site};
    const Call set_fix{"SyncAll", Pipe::kFixpipe, site};
    const SyncPoint point{wait.name, Pipe::kAll, Pipe::kAll, vector_only ? 1 : 0, -1, false, site};
    if (core.Unwinding() || IgnoresSync(core, point)) {
        return;
    }
    PassBarrier(core, Pipe::kAll, site);
    if (vector_only) {
        Set(core, 0, set_mte3, kSyncVectors);
        Wait(core, wait, kSyncVectors);
        return;
    }
    if (!IsMix(core.machine().kind())) {
        core.Fail("parameter",
                  Describe(wait) + " on " + core.name() + ": SyncAll<false> needs a mix kernel, this one hangs",
                  SiteKey(site));
    }
    if (core.type() == CoreType::kCube) {
        Wait(core, wait, kSyncVectorsToCube);
        Set(core, 0, set_fix, kSyncCubes);
        Wait(core, wait, kSyncCubes);
        Set(core, 2, set_mte3, kSyncCubeToVectors);
    } else {
        Set(core, 2, set_mte3, kSyncVectorsToCube);
        Wait(core, wait, kSyncCubeToVectors);
    }
}

}  // namespace ascend_attention::sim
