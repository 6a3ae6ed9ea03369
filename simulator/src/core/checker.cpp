// SPDX-License-Identifier: Apache-2.0
#include "core/checker.h"

#include "core/machine.h"

namespace ascend_attention::sim {

GlobalChecker::GlobalChecker(const GlobalMemory& memory, std::size_t core_count)
    : cores(core_count, nullptr), components_(core_count * kPipeCount) {
    for (const GlobalRegion& region : memory.regions()) {
        shadows_.emplace_back(region);
    }
}

std::uint32_t GlobalChecker::SiteId(const Call& call) {
    const SiteKey key{call.name, call.site.file, call.site.line};
    const auto inserted = site_ids_.emplace(key, static_cast<std::uint32_t>(sites_.size()));
    if (inserted.second) {
        sites_.push_back(CallSite{call.name, call.site});
    }
    return inserted.first->second;
}

bool GlobalChecker::FirstOfPair(std::uint32_t earlier, std::uint32_t later, int what) {
    return reported_
        .insert((static_cast<std::uint64_t>(earlier) << 34) | (static_cast<std::uint64_t>(later) << 4) |
                static_cast<std::uint64_t>(what))
        .second;
}

CoreChecker::CoreChecker(Core& core, GlobalChecker& shared)
    : core_(core),
      shared_(shared),
      base_(static_cast<std::size_t>(core.index()) * kPipeCount),
      auto_sync_(core.machine().auto_sync() && core.type() == CoreType::kVector) {
    for (Clock& clock : clocks_) {
        clock = Clock(shared.components());
    }
    shared.cores[static_cast<std::size_t>(core.index())] = &core;
}

Tick CoreChecker::Begin(const Call& call, std::uint32_t* site) {
    *site = shared_.SiteId(call);
    const Tick tick = ++issued_[static_cast<int>(call.pipe)];
    if (auto_sync_ && knowledge_changed_[static_cast<std::size_t>(call.pipe)]) {
        RememberKnowledge(call.pipe, tick);
    }
    return tick;
}

LocalGranule* CoreChecker::Granules(Space space) {
    std::unique_ptr<LocalGranule[], FreeDelete>& granules = local_[static_cast<int>(space)];
    if (granules == nullptr) {
        granules = LazyArray<LocalGranule>((core_.memory_bytes(space) + kGranule - 1) / kGranule);
    }
    return granules.get();
}

// ---- Clocks ----

Clock CoreChecker::Published(Pipe pipe) const {
    Clock clock = clocks_[static_cast<int>(pipe)];
    clock.Raise(Component(pipe), issued_[static_cast<int>(pipe)]);
    return clock;
}

void CoreChecker::JoinAll(const Clock& clock) {
    for (Clock& mine : clocks_) {
        mine.Join(clock);
    }
    knowledge_changed_.fill(true);
}

void CoreChecker::Barrier(Pipe pipe) {
    knowledge_changed_[static_cast<std::size_t>(pipe)] = true;
    clocks_[static_cast<int>(pipe)].Raise(Component(pipe), issued_[static_cast<int>(pipe)]);
}

void CoreChecker::BarrierAll() {
    Clock all(shared_.components());
    for (int pipe = 0; pipe < kPipeCount; ++pipe) {
        all.Join(Published(static_cast<Pipe>(pipe)));
    }
    clocks_.fill(all);
    knowledge_changed_.fill(true);
    first_incomplete_ = 0;
}

void CoreChecker::CompleteScalar() {
    for (Clock& clock : clocks_) {
        clock.Raise(Component(Pipe::kScalar), issued_[static_cast<int>(Pipe::kScalar)]);
    }
    knowledge_changed_.fill(true);
    first_incomplete_ = 0;
}

namespace {
constexpr std::uint64_t kUnitBytes = 512;
}

void CoreChecker::AcquireUnits(Pipe pipe, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t unit = begin / kUnitBytes; unit * kUnitBytes < end; ++unit) {
        const auto found = units_.find(unit);
        // A pipe's own release orders nothing: when the flags were cleared in between, it has not waited for anybody.
        if (found != units_.end() && found->second.pipe != pipe) {
            Join(pipe, found->second.clock);
        }
    }
}

void CoreChecker::ReleaseUnits(Pipe pipe, std::uint64_t begin, std::uint64_t end) {
    const Clock published = Published(pipe);
    for (std::uint64_t unit = begin / kUnitBytes; unit * kUnitBytes < end; ++unit) {
        units_[unit] = UnitRelease{pipe, published};
    }
}

// ---- Findings ----

void CoreChecker::Conflict(const Instruction& now, Hazard hazard, const char* name, const std::string& place,
                           std::uint64_t offset, std::uint32_t earlier_site, std::size_t earlier_component,
                           Tick earlier_tick) {
    const Pipe earlier_pipe = static_cast<Pipe>(earlier_component % kPipeCount);
    const bool same_core = earlier_component / kPipeCount == static_cast<std::size_t>(core_.index());
    const bool same_pipe = same_core && earlier_pipe == now.call.pipe;
    HazardRule rule{PipeOrder::kNeedsBarrier, ""};
    if (same_pipe) {
        rule = SamePipeRule(now.call.pipe, hazard);
        if (rule.order == PipeOrder::kOrdered || (hazard == Hazard::kReadAfterWrite && now.ordered_accumulation)) {
            return;
        }
    }
    if (auto_sync_ && same_core && CompilerOrders(now, earlier_pipe, earlier_tick, shared_.site(earlier_site))) {
        return;
    }
    const int what = static_cast<int>(hazard) * 3 + (same_pipe ? 2 : same_core ? 1 : 0);
    if (!shared_.FirstOfPair(earlier_site, now.site, what)) {
        return;
    }
    std::string key;
    Finding finding = DescribeConflict(now, hazard, name, place, offset, earlier_site, earlier_component, &key);
    core_.machine().log().Add(std::move(finding), key);
}

Finding CoreChecker::DescribeConflict(const Instruction& now, Hazard hazard, const char* name, const std::string& place,
                                      std::uint64_t offset, std::uint32_t earlier_site, std::size_t earlier_component,
                                      std::string* key) const {
    const Pipe earlier_pipe = static_cast<Pipe>(earlier_component % kPipeCount);
    const bool same_core = earlier_component / kPipeCount == static_cast<std::size_t>(core_.index());
    const bool same_pipe = same_core && earlier_pipe == now.call.pipe;
    const HazardRule rule = same_pipe ? SamePipeRule(now.call.pipe, hazard) : HazardRule{PipeOrder::kNeedsBarrier, ""};
    const int what = static_cast<int>(hazard) * 3 + (same_pipe ? 2 : same_core ? 1 : 0);
    const CallSite& earlier = shared_.site(earlier_site);
    const std::string earlier_core = shared_.cores[earlier_component / kPipeCount]->name();
    const bool writes = hazard != Hazard::kReadAfterWrite;
    std::string text = Describe(now.call) + " on " + core_.name() + ", pipe " + NameOf(now.call.pipe) +
                       (writes ? ", writes " : ", reads ") + name + " at " + place + " byte " + std::to_string(offset) +
                       ", which " + Describe(earlier.name, earlier.site) + " on " + earlier_core + ", pipe " +
                       NameOf(earlier_pipe) + (hazard == Hazard::kWriteAfterRead ? ", reads" : ", writes") + " (" +
                       NameOf(hazard) + "); ";
    if (same_pipe) {
        text += std::string("PipeBarrier<PIPE_") + NameOf(now.call.pipe) + "> would order them [" + rule.source + "]";
    } else if (same_core) {
        text += std::string("no SetFlag/WaitFlag<HardEvent::") + NameOf(earlier_pipe) + "_" + NameOf(now.call.pipe) +
                "> or other chain of flags orders them";
    } else {
        text += "no chain of cross-core flags orders them";
    }
    const Severity severity = rule.order == PipeOrder::kUndocumented ? Severity::kUndocumentedOrder : Severity::kError;
    *key = std::to_string(earlier_site) + "|" + std::to_string(now.site) + "|" + std::to_string(what);
    return Finding{severity, severity == Severity::kError ? "race" : "undocumented order", text};
}

void CoreChecker::LocalConflict(const Instruction& now, Hazard hazard, const char* name, Space space,
                                std::uint64_t base, std::uint32_t mask, const LocalAccess& earlier) {
    const std::uint64_t offset = base + static_cast<std::uint64_t>(__builtin_ctz(mask & earlier.mask));
    Conflict(now, hazard, name, NameOf(space), offset, earlier.site >> 3, Component(earlier.pipe()), earlier.tick);
}

void CoreChecker::Uninitialised(const Instruction& now, const char* name, const std::string& place,
                                std::uint64_t offset) {
    if (!shared_.FirstOfPair(now.site, now.site, 9)) {
        return;
    }
    core_.Report(Severity::kError, "uninitialised",
                 Describe(now.call) + " on " + core_.name() + ": " + name + " reads " + place + " byte " +
                     std::to_string(offset) + ", which nothing has defined",
                 std::to_string(now.site) + "|" + name);
}

void CoreChecker::UndefinedOutput(const Instruction& now, const GlobalRegion& buffer, std::uint64_t offset) {
    core_.Report(Severity::kError, "uninitialised",
                 Describe(now.call) + " on " + core_.name() + " stores undefined bytes into output '" + buffer.name +
                     "', first at byte " + std::to_string(offset),
                 std::to_string(now.site) + "|output");
}

}  // namespace ascend_attention::sim
