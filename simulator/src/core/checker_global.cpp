// SPDX-License-Identifier: Apache-2.0
// Global memory in checked mode: accesses of all cores, and the scalar unit's data cache.
#include <cstring>
#include <string>

#include "core/checker.h"
#include "core/machine.h"

namespace ascend_attention::sim {

namespace {

std::uint64_t LineMask(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t low = bytes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
    return low << offset;
}

std::string Quoted(const GlobalRegion& buffer) { return "'" + buffer.name + "'"; }

}  // namespace

// Atomic stores of several cores commute, so they need no order among themselves.
bool CoreChecker::IsAtomic(const Instruction& now) const {
    return core_.state.atomic.mode != AtomicMode::kNone &&
           (now.call.pipe == Pipe::kMte3 || now.call.pipe == Pipe::kFixpipe);
}

void CoreChecker::ReadGranule(const Instruction& now, const char* name, BufferShadow& shadow, std::uint64_t granule,
                              std::uint32_t mask, bool computes, bool atomic) {
    const Clock& known = clocks_[static_cast<int>(now.call.pipe)];
    const std::size_t own = Component(now.call.pipe);
    if (computes && (mask & ~shadow.Defined(granule)) != 0) {
        const int first = __builtin_ctz(mask & ~shadow.Defined(granule));
        Uninitialised(now, name, Quoted(*shadow.region), granule * kGranule + static_cast<std::uint64_t>(first));
    }
    if (atomic) {
        return;  // the read half of an atomic store: its write is judged
    }
    // Earlier reads of the same pipe give up the bytes of this one: whoever is ordered after it is ordered after them.
    std::uint32_t reusable = 0;
    for (std::uint32_t index = shadow.heads[granule]; index != 0; index = shared_.pool[index].next) {
        GlobalAccess& earlier = shared_.pool[index];
        if (!earlier.write) {
            if (earlier.component == own) {
                earlier.mask = earlier.tick == now.tick ? earlier.mask : earlier.mask & ~mask;
                reusable = earlier.mask == 0 || earlier.tick == now.tick ? index : reusable;
            }
            continue;
        }
        if ((earlier.mask & mask) != 0 && earlier.tick > known[earlier.component] &&
            !(earlier.component == own && earlier.tick == now.tick) && !IsAccepted(earlier.component, earlier.tick)) {
            Conflict(now, Hazard::kReadAfterWrite, name, Quoted(*shadow.region),
                     granule * kGranule + static_cast<std::uint64_t>(__builtin_ctz(earlier.mask & mask)), earlier.site,
                     earlier.component, earlier.tick);
        }
    }
    if (reusable == 0) {
        reusable = shared_.pool.Take();
        shared_.pool[reusable] =
            GlobalAccess{shadow.heads[granule], 0, 0, 0, 0, static_cast<std::uint16_t>(own), false, false};
        shadow.heads[granule] = reusable;
    }
    GlobalAccess& entry = shared_.pool[reusable];
    entry.mask |= mask;
    entry.tick = now.tick;
    entry.site = now.site;
}

void CoreChecker::WriteGranule(const Instruction& now, const char* name, BufferShadow& shadow, std::uint64_t granule,
                               std::uint32_t mask, bool atomic) {
    const Clock& known = clocks_[static_cast<int>(now.call.pipe)];
    const std::size_t own = Component(now.call.pipe);
    std::uint32_t* link = &shadow.heads[granule];
    while (*link != 0) {
        GlobalAccess& earlier = shared_.pool[*link];
        if ((earlier.mask & mask) != 0) {
            const bool commutes = atomic && earlier.atomic;
            const bool itself = earlier.component == own && earlier.tick == now.tick;
            const bool unordered = !commutes && !itself && earlier.tick > known[earlier.component];
            const bool scalars = now.call.pipe == Pipe::kScalar &&
                                 earlier.component % kPipeCount == static_cast<std::size_t>(Pipe::kScalar);
            if (unordered && scalars && !earlier.write && earlier.component != own) {
                SuspectRead(now, earlier, mask, name, shadow, granule);
            } else if (unordered && !IsAccepted(earlier.component, earlier.tick)) {
                Conflict(now, earlier.write ? Hazard::kWriteAfterWrite : Hazard::kWriteAfterRead, name,
                         Quoted(*shadow.region),
                         granule * kGranule + static_cast<std::uint64_t>(__builtin_ctz(earlier.mask & mask)),
                         earlier.site, earlier.component, earlier.tick);
            }
            // An atomic store replaces nothing but the same pipe's own: atomic stores of other cores need an order
            // after what came before it, and a later reader needs one after each of them.
            if (!atomic || (commutes && earlier.component == own)) {
                earlier.mask &= ~mask;
            }
        }
        if (earlier.mask == 0) {
            const std::uint32_t dead = *link;
            // The pool may grow while links point into the heads or into the pool, so links are re-read by index.
            *link = earlier.next;
            shared_.pool.Give(dead);
            continue;
        }
        link = &earlier.next;
    }
    const std::uint32_t fresh = shared_.pool.Take();
    shared_.pool[fresh] = GlobalAccess{shadow.heads[granule],           mask, now.tick, now.site, shared_.sequence,
                                       static_cast<std::uint16_t>(own), true, atomic};
    shadow.heads[granule] = fresh;
    shadow.SetDefined(granule, mask, true);
}

void CoreChecker::CheckDirty(const Instruction& now, const char* name, std::uint64_t begin, std::uint64_t end) {
    for (auto line = shared_.dirty.lower_bound(begin - std::min(begin, kCacheLineBytes - 1));
         line != shared_.dirty.end() && line->first < end; ++line) {
        const std::uint64_t low = std::max(begin, line->first);
        const std::uint64_t high = std::min(end, line->first + kCacheLineBytes);
        if (low >= high || (line->second.mask & LineMask(low - line->first, high - low)) == 0) {
            continue;
        }
        Suspect suspect;
        suspect.key = std::to_string(now.site) + "|dirty";
        suspect.finding = Finding{
            Severity::kError, "data cache",
            Describe(now.call) + " on " + core_.name() + ": " + name + " reads bytes that " +
                Describe(line->second.written.name, line->second.written.site) + " on " + line->second.core->name() +
                " stored into its data cache and has not cleaned (DataCacheCleanAndInvalid): it sees the old value"};
        if (now.call.pipe == Pipe::kScalar && line->second.core != &core_) {
            AddSuspect({now.site, begin}, std::move(suspect));  // it may be polling
        } else {
            core_.machine().log().Add(std::move(suspect.finding), suspect.key);
        }
    }
}

void CoreChecker::ReadGlobal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                             const GlobalRegion& buffer, bool computes) {
    BufferShadow& shadow = shared_.shadow(buffer);
    if (!shadow.tracked) {
        return;
    }
    const bool atomic = IsAtomic(now);
    ForEachPiece(region, operand.address, [&](std::uint64_t first, std::uint64_t last) {
        if (!shared_.dirty.empty()) {
            CheckDirty(now, name, first, last);
        }
        const std::uint64_t begin = first - buffer.begin;
        const std::uint64_t end = last - buffer.begin;
        for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
            ReadGranule(now, name, shadow, index, ByteMask(index * kGranule, begin, end), computes, atomic);
        }
    });
}

void CoreChecker::WriteGlobal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                              const GlobalRegion& buffer) {
    BufferShadow& shadow = shared_.shadow(buffer);
    const bool atomic = IsAtomic(now);
    ++shared_.sequence;
    ForEachPiece(region, operand.address, [&](std::uint64_t first, std::uint64_t last) {
        const std::uint64_t begin = first - buffer.begin;
        const std::uint64_t end = last - buffer.begin;
        for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
            WriteGranule(now, name, shadow, index, ByteMask(index * kGranule, begin, end), atomic);
        }
    });
}

// ---- Data cache ----

CoreChecker::CacheLine& CoreChecker::Line(std::uint64_t address, const GlobalRegion& buffer) {
    const std::uint64_t line_address = CacheLineOf(address, buffer);
    CacheLine& line = cache_[line_address];
    if (line.buffer == nullptr) {
        line.buffer = &buffer;
        line.bytes = static_cast<std::uint32_t>(std::min(kCacheLineBytes, buffer.end - line_address));
        line.sequence = shared_.sequence;
        std::memcpy(line.data.data(), reinterpret_cast<const void*>(line_address), line.bytes);
    }
    return line;
}

void CoreChecker::ScalarLoad(const Instruction& now, const Operand& element, const GlobalRegion& buffer, void* value,
                             std::uint32_t bytes) {
    BufferShadow& shadow = shared_.shadow(buffer);
    CacheLine& line = Line(element.address, buffer);
    const std::uint64_t begin = element.address - buffer.begin;
    const std::uint64_t in_line = begin % kCacheLineBytes;
    // An element that straddles two lines does not exist for aligned addresses; host alignment may make one.
    const std::uint64_t part = std::min<std::uint64_t>(bytes, line.bytes - in_line);
    if ((line.bypassed & LineMask(in_line, part)) != 0) {
        core_.Report(Severity::kError, "data cache",
                     Describe(now.call) + " on " + core_.name() +
                         " reads a stale line of its data cache: the core has stored " + Quoted(buffer) + " byte " +
                         std::to_string(begin) + " around the cache since; DataCacheCleanAndInvalid is missing",
                     std::to_string(now.site) + "|stale");
    }
    std::uint32_t old_until = 0;
    if ((line.dirty & LineMask(in_line, part)) != LineMask(in_line, part)) {
        const Release* release = nullptr;
        if (Observe(now, element.address, part, buffer, line.sequence, &release) == Seen::kOld) {
            for (std::uint32_t i = 0; i < line.bytes; ++i) {
                line.data[i] = (line.dirty >> i & 1U) != 0 ? line.data[i] : release->old[i];
            }
            old_until = release->sequence - 1;
        }
        for (std::uint64_t index = begin / kGranule; index * kGranule < begin + part; ++index) {
            const std::uint32_t mask = ByteMask(index * kGranule, begin, begin + part);
            for (std::uint32_t entry = shadow.heads[index]; entry != 0; entry = shared_.pool[entry].next) {
                const GlobalAccess& write = shared_.pool[entry];
                if (write.write && (write.mask & mask) != 0 && write.sequence > line.sequence &&
                    write.component != Component(Pipe::kScalar)) {
                    const CallSite& other = shared_.site(write.site);
                    core_.Report(Severity::kError, "data cache",
                                 Describe(now.call) + " on " + core_.name() +
                                     " reads a stale line of its data cache: " + Describe(other.name, other.site) +
                                     " on " + shared_.cores[write.component / kPipeCount]->name() + " has written " +
                                     Quoted(buffer) + " byte " + std::to_string(begin) +
                                     " since; DataCacheCleanAndInvalid is missing",
                                 std::to_string(now.site) + "|stale");
                }
            }
            ReadGranule(now, "the element", shadow, index, mask, true, false);
        }
        if (!shared_.dirty.empty()) {
            // Own dirty bytes are in the line; only another core's are missing from memory.
            for (auto other = shared_.dirty.begin(); other != shared_.dirty.end(); ++other) {
                if (other->second.core != &core_ && other->first == element.address - in_line &&
                    (other->second.mask & LineMask(in_line, part)) != 0) {
                    CheckDirty(now, "the element", element.address, element.address + part);
                }
            }
        }
    }
    excused_ = {};
    if (old_until != 0) {
        line.sequence = old_until;  // as if it had been read before the store
    }
    std::memcpy(value, line.data.data() + in_line, part);
    if (part < bytes) {
        Operand rest = element;
        rest.address += part;
        ScalarLoad(now, rest, buffer, static_cast<std::uint8_t*>(value) + part,
                   bytes - static_cast<std::uint32_t>(part));
    }
}

void CoreChecker::ScalarStore(const Instruction& now, const Operand& element, const GlobalRegion& buffer,
                              const void* value, std::uint32_t bytes) {
    CacheLine& line = Line(element.address, buffer);
    const std::uint64_t in_line = (element.address - buffer.begin) % kCacheLineBytes;
    const std::uint64_t line_address = element.address - in_line;
    const std::uint64_t part = std::min<std::uint64_t>(bytes, line.bytes - in_line);
    std::memcpy(line.data.data() + in_line, value, part);
    const bool was_clean = line.dirty == 0;
    line.dirty |= LineMask(in_line, part);
    line.site = now.site;
    DirtyLine* entry = nullptr;
    const auto range = shared_.dirty.equal_range(line_address);
    for (auto found = range.first; found != range.second; ++found) {
        entry = found->second.core == &core_ ? &found->second : entry;
    }
    if (was_clean || entry == nullptr) {
        entry = &shared_.dirty.emplace(line_address, DirtyLine{&core_, {}, 0})->second;
    }
    entry->written = shared_.site(now.site);
    entry->mask = line.dirty;
    if (part < bytes) {
        Operand rest = element;
        rest.address += part;
        ScalarStore(now, rest, buffer, static_cast<const std::uint8_t*>(value) + part,
                    bytes - static_cast<std::uint32_t>(part));
    }
}

void CoreChecker::WriteBack(const Instruction& now, std::uint64_t address, CacheLine& line) {
    if (line.dirty == 0) {
        return;
    }
    const GlobalRegion& buffer = *line.buffer;
    BufferShadow& shadow = shared_.shadow(buffer);
    const std::uint64_t begin = address - buffer.begin;
    // A line is written back whole, so bytes that others have written since it was filled are lost.
    for (std::uint64_t index = begin / kGranule; index * kGranule < begin + line.bytes; ++index) {
        const std::uint64_t shift = index * kGranule - begin;
        const std::uint32_t clean = static_cast<std::uint32_t>(~line.dirty >> shift);
        for (std::uint32_t entry = shadow.heads[index]; entry != 0; entry = shared_.pool[entry].next) {
            const GlobalAccess& write = shared_.pool[entry];
            if (write.write && (write.mask & clean) != 0 && write.sequence > line.sequence &&
                write.component / kPipeCount != static_cast<std::size_t>(core_.index())) {
                const CallSite& other = shared_.site(write.site);
                core_.Report(Severity::kError, "data cache",
                             Describe(now.call) + " on " + core_.name() + " writes back the 64-byte line at " +
                                 Quoted(buffer) + " byte " + std::to_string(begin) + " over what " +
                                 Describe(other.name, other.site) + " on " +
                                 shared_.cores[write.component / kPipeCount]->name() +
                                 " has written into the same line since it was read",
                             std::to_string(now.site) + "|clobber");
            }
        }
    }
    Publish(now, address, buffer);
    ++shared_.sequence;
    for (std::uint64_t index = begin / kGranule; index * kGranule < begin + line.bytes; ++index) {
        const std::uint32_t mask = static_cast<std::uint32_t>(line.dirty >> (index * kGranule - begin));
        if (mask != 0) {
            WriteGranule(now, "a line", shadow, index, mask, false);
        }
    }
    for (std::uint32_t i = 0; i < line.bytes; ++i) {
        if ((line.dirty >> i & 1U) != 0) {
            reinterpret_cast<std::uint8_t*>(address)[i] = line.data[i];
        }
    }
    line.dirty = 0;
    const auto range = shared_.dirty.equal_range(address);
    for (auto found = range.first; found != range.second; ++found) {
        if (found->second.core == &core_) {
            shared_.dirty.erase(found);
            break;
        }
    }
}

void CoreChecker::CleanLine(const Instruction& now, std::uint64_t address, const GlobalRegion& buffer) {
    const std::uint64_t line_address = CacheLineOf(address, buffer);
    const auto found = cache_.find(line_address);
    if (found != cache_.end()) {
        WriteBack(now, line_address, found->second);
        cache_.erase(found);
    }
}

void CoreChecker::CleanAll(const Instruction& now) {
    std::map<std::uint64_t, CacheLine*> ordered;  // findings must not depend on a hash order
    for (auto& entry : cache_) {
        ordered.emplace(entry.first, &entry.second);
    }
    for (const auto& entry : ordered) {
        WriteBack(now, entry.first, *entry.second);
    }
    cache_.clear();
}

// Unless told otherwise the vendor's compiler cleans the whole cache at the end of every kernel ("an additional
// tolerance", in its own words), so with its help what is dirty still arrives.
void CoreChecker::ReportDirtyLines() {
    const bool cleaned = core_.machine().auto_sync();
    std::map<std::uint64_t, CacheLine*> ordered;
    for (auto& entry : cache_) {
        if (entry.second.dirty != 0) {
            ordered.emplace(entry.first, &entry.second);
        }
    }
    for (const auto& entry : ordered) {
        const CallSite store = shared_.site(entry.second->site);
        const GlobalRegion& buffer = *entry.second->buffer;
        core_.Report(cleaned ? Severity::kWarning : Severity::kError, "data cache",
                     Describe(store.name, store.site) + " on " + core_.name() + " stored into " + Quoted(buffer) +
                         " byte " + std::to_string(entry.first - buffer.begin) +
                         " and the line is still dirty when the kernel ends: DataCacheCleanAndInvalid is missing" +
                         (cleaned ? ", only the compiler's own at the end of a kernel saves it" : ""),
                     std::to_string(entry.second->site) + "|end");
        if (cleaned) {
            const Call call{store.name, Pipe::kScalar, store.site};
            std::uint32_t id = 0;
            const Tick tick = Begin(call, &id);
            WriteBack(Instruction{call, tick, id, false}, entry.first, *entry.second);
        }
    }
}

}  // namespace ascend_attention::sim
