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
    : core_(core), shared_(shared), base_(static_cast<std::size_t>(core.index()) * kPipeCount) {
    for (Clock& clock : clocks_) {
        clock = Clock(shared.components());
    }
    shared.cores[static_cast<std::size_t>(core.index())] = &core;
}

Tick CoreChecker::Begin(const Call& call, std::uint32_t* site) {
    *site = shared_.SiteId(call);
    return ++issued_[static_cast<int>(call.pipe)];
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
}

void CoreChecker::Barrier(Pipe pipe) {
    clocks_[static_cast<int>(pipe)].Raise(Component(pipe), issued_[static_cast<int>(pipe)]);
}

void CoreChecker::BarrierAll() {
    Clock all(shared_.components());
    for (int pipe = 0; pipe < kPipeCount; ++pipe) {
        all.Join(Published(static_cast<Pipe>(pipe)));
    }
    clocks_.fill(all);
}

void CoreChecker::CompleteScalar() {
    for (Clock& clock : clocks_) {
        clock.Raise(Component(Pipe::kScalar), issued_[static_cast<int>(Pipe::kScalar)]);
    }
}

namespace {
constexpr std::uint64_t kUnitBytes = 512;
}

void CoreChecker::AcquireUnits(Pipe pipe, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t unit = begin / kUnitBytes; unit * kUnitBytes < end; ++unit) {
        const auto found = units_.find(unit);
        if (found != units_.end()) {
            Join(pipe, found->second);
        }
    }
}

void CoreChecker::ReleaseUnits(Pipe pipe, std::uint64_t begin, std::uint64_t end) {
    const Clock published = Published(pipe);
    for (std::uint64_t unit = begin / kUnitBytes; unit * kUnitBytes < end; ++unit) {
        units_[unit] = published;
    }
}

// ---- Findings ----

void CoreChecker::Conflict(const Instruction& now, Hazard hazard, const char* name, const std::string& place,
                           std::uint64_t offset, std::uint32_t earlier_site, std::size_t earlier_component) {
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
    const int what = static_cast<int>(hazard) * 3 + (same_pipe ? 2 : same_core ? 1 : 0);
    if (!shared_.FirstOfPair(earlier_site, now.site, what)) {
        return;
    }
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
    core_.Report(severity, severity == Severity::kError ? "race" : "undocumented order", text,
                 std::to_string(earlier_site) + "|" + std::to_string(now.site) + "|" + std::to_string(what));
}

void CoreChecker::LocalConflict(const Instruction& now, Hazard hazard, const char* name, Space space,
                                std::uint64_t offset, const LocalAccess& earlier) {
    Conflict(now, hazard, name, NameOf(space), offset, earlier.site >> 3, Component(earlier.pipe()));
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

// ---- On-chip memory ----

void CoreChecker::ReadLocal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                            bool computes) {
    LocalGranule* granules = Granules(operand.space);
    const Pipe pipe = now.call.pipe;
    const Tick* known = clocks_[static_cast<int>(pipe)].data() + base_;
    const std::uint32_t site = (now.site << 3) | static_cast<std::uint32_t>(pipe);
    ForEachPiece(region, operand.address, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
            LocalGranule& granule = granules[index];
            const std::uint32_t mask = ByteMask(index * kGranule, begin, end);
            for (const LocalAccess& write : granule.writes) {
                if ((write.mask & mask) != 0 && write.tick > known[static_cast<int>(write.pipe())] &&
                    !(write.pipe() == pipe && write.tick == now.tick)) {
                    LocalConflict(now, Hazard::kReadAfterWrite, name, operand.space, std::max(begin, index * kGranule),
                                  write);
                }
            }
            LocalAccess* slot = &granule.reads[0];
            for (LocalAccess& read : granule.reads) {
                if (read.mask == 0 || read.pipe() == pipe) {
                    slot = &read;
                    break;
                }
            }
            slot->mask |= mask;
            slot->tick = now.tick;
            slot->site = site;
            if (computes && (mask & ~granule.defined) != 0) {
                const int first = __builtin_ctz(mask & ~granule.defined);
                Uninitialised(now, name, NameOf(operand.space), index * kGranule + static_cast<std::uint64_t>(first));
            }
        }
    });
}

namespace {

// Remembers a write in a free slot. With none free the slot of the same pipe takes the later tick: whoever is ordered
// after the later write is ordered after the earlier one.
void StoreWrite(LocalGranule& granule, Pipe pipe, Tick tick, std::uint32_t site, std::uint32_t mask) {
    LocalAccess* slot = nullptr;
    for (LocalAccess& write : granule.writes) {
        if (write.mask != 0 && write.pipe() == pipe && write.tick == tick) {
            write.mask |= mask;
            return;
        }
        if (write.mask == 0 && slot == nullptr) {
            slot = &write;
        }
    }
    for (LocalAccess& write : granule.writes) {
        if (slot == nullptr && write.pipe() == pipe) {
            slot = &write;
        }
    }
    if (slot == nullptr) {
        slot = &granule.writes[0];
    }
    slot->mask |= mask;
    slot->tick = tick;
    slot->site = site;
}

}  // namespace

void CoreChecker::WriteLocal(const Instruction& now, const Operand& operand, const char* name, const Region& region) {
    LocalGranule* granules = Granules(operand.space);
    const Pipe pipe = now.call.pipe;
    const Tick* known = clocks_[static_cast<int>(pipe)].data() + base_;
    const std::uint32_t site = (now.site << 3) | static_cast<std::uint32_t>(pipe);
    ForEachPiece(region, operand.address, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
            LocalGranule& granule = granules[index];
            const std::uint32_t mask = ByteMask(index * kGranule, begin, end);
            bool accumulates = false;  // the dependence was judged when the instruction read the same bytes
            for (LocalAccess& read : granule.reads) {
                if ((read.mask & mask) == 0) {
                    continue;
                }
                if (read.pipe() == pipe && read.tick == now.tick) {
                    accumulates = true;
                } else if (read.tick > known[static_cast<int>(read.pipe())]) {
                    LocalConflict(now, Hazard::kWriteAfterRead, name, operand.space, std::max(begin, index * kGranule),
                                  read);
                }
                read.mask &= ~mask;
            }
            for (LocalAccess& write : granule.writes) {
                if ((write.mask & mask) == 0) {
                    continue;
                }
                const bool own = write.pipe() == pipe;
                if (write.tick > known[static_cast<int>(write.pipe())] && !(own && (write.tick == now.tick)) &&
                    !(own && pipe == Pipe::kCube && accumulates)) {
                    LocalConflict(now, Hazard::kWriteAfterWrite, name, operand.space, std::max(begin, index * kGranule),
                                  write);
                }
                write.mask &= ~mask;
            }
            StoreWrite(granule, pipe, now.tick, site, mask);
            granule.defined |= mask;
        }
    });
}

// ---- Definedness ----

std::uint32_t CoreChecker::DefinedMask(const Operand& operand, std::uint64_t granule, BufferShadow* shadow) {
    if (operand.space != Space::kGlobal) {
        return Granules(operand.space)[granule].defined;
    }
    return shadow == nullptr || !shadow->tracked ? kAllBytes : shadow->Defined(granule);
}

bool CoreChecker::IsDefined(const Operand& operand, std::uint64_t offset) {
    std::uint64_t position = operand.address + offset;
    BufferShadow* shadow = nullptr;
    if (operand.space == Space::kGlobal) {
        const GlobalRegion* region = core_.FindGlobal(position);
        if (region == nullptr) {
            return true;
        }
        shadow = &shared_.shadow(*region);
        position -= region->begin;
    }
    return (DefinedMask(operand, position / kGranule, shadow) >> (position % kGranule) & 1U) != 0;
}

bool CoreChecker::AllDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t begin = operand.address + offset;
    BufferShadow* shadow = nullptr;
    if (operand.space == Space::kGlobal) {
        const GlobalRegion* region = core_.FindGlobal(begin);
        if (region == nullptr) {
            return true;
        }
        shadow = &shared_.shadow(*region);
        begin -= region->begin;
    }
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
        if ((ByteMask(index * kGranule, begin, end) & ~DefinedMask(operand, index, shadow)) != 0) {
            return false;
        }
    }
    return true;
}

void CoreChecker::SetDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes, bool defined) {
    std::uint64_t begin = operand.address + offset;
    BufferShadow* shadow = nullptr;
    if (operand.space == Space::kGlobal) {
        const GlobalRegion* region = core_.FindGlobal(begin);
        if (region == nullptr || !shared_.shadow(*region).tracked) {
            return;
        }
        shadow = &shared_.shadow(*region);
        begin -= region->begin;
    }
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
        const std::uint32_t mask = ByteMask(index * kGranule, begin, end);
        if (shadow != nullptr) {
            shadow->SetDefined(index, mask, defined);
        } else {
            std::uint32_t& bits = Granules(operand.space)[index].defined;
            bits = defined ? bits | mask : bits & ~mask;
        }
    }
}

void CoreChecker::Carry(const Instruction& now, const Operand& to, std::uint64_t to_offset, const Operand& from,
                        std::uint64_t from_offset, std::uint64_t bytes) {
    std::uint64_t begin = from.address + from_offset;
    BufferShadow* shadow = nullptr;
    if (from.space == Space::kGlobal) {
        const GlobalRegion* region = core_.FindGlobal(begin);
        if (region == nullptr || !shared_.shadow(*region).tracked) {
            return;  // an input: all defined
        }
        shadow = &shared_.shadow(*region);
        begin -= region->begin;
    }
    const std::uint64_t end = begin + bytes;
    bool all_defined = true;
    for (std::uint64_t index = begin / kGranule; all_defined && index * kGranule < end; ++index) {
        all_defined = (ByteMask(index * kGranule, begin, end) & ~DefinedMask(from, index, shadow)) == 0;
    }
    if (all_defined) {
        return;  // Writes has defined the destination already
    }
    const GlobalRegion* output = nullptr;
    if (to.space == Space::kGlobal) {
        output = core_.FindGlobal(to.address + to_offset);
    }
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (!IsDefined(from, from_offset + i)) {
            SetDefined(to, to_offset + i, 1, false);
            if (output != nullptr && output->output) {
                UndefinedOutput(now, *output, to.address + to_offset + i - output->begin);
                output = nullptr;
            }
        }
    }
}

void CoreChecker::Undefine(const Instruction& now, const Operand& operand, const Region& region) {
    ForEachPiece(region, 0, [&](std::uint64_t begin, std::uint64_t end) {
        SetDefined(operand, begin, end - begin, false);
        if (operand.space == Space::kGlobal) {
            const GlobalRegion* buffer = core_.FindGlobal(operand.address + begin);
            if (buffer != nullptr && buffer->output) {
                UndefinedOutput(now, *buffer, operand.address + begin - buffer->begin);
            }
        }
    });
}

}  // namespace ascend_attention::sim
