// SPDX-License-Identifier: Apache-2.0
// Flags in global memory. A core that reads one word again and again until another core's scalar store shows up is
// synchronising, and what the store published holds for it from then on. A core that reads such a word once has a race.
// The two look the same at the first read, so that read is given the old value, which is a legal outcome, and is only
// suspected: reading again at the same line clears it, the end of the core reports it.
#include <cstring>
#include <string>

#include "core/checker.h"
#include "core/machine.h"

namespace ascend_attention::sim {

namespace {

// A clock of 72 cores takes 2 KiB.
constexpr std::size_t kMaxReleases = 4096;

}  // namespace

void GlobalChecker::AddRelease(std::uint64_t line, Release release) {
    const std::pair<std::uint64_t, std::size_t> key{line, release.component};
    const auto found = releases_.find(key);
    if (found != releases_.end()) {
        found->second = std::move(release);
        return;
    }
    if (release_order_.size() >= kMaxReleases) {
        releases_.erase(release_order_.front());
        release_order_.pop_front();
    }
    release_order_.push_back(key);
    releases_.emplace(key, std::move(release));
}

const Release* GlobalChecker::FindRelease(std::uint64_t line, std::size_t component, Tick tick) const {
    const auto found = releases_.find({line, component});
    return found != releases_.end() && found->second.tick == tick ? &found->second : nullptr;
}

// Before the bytes of a line change. Stores around the cache complete in no order among themselves until
// DataSyncBarrier: what precedes an incomplete one is all that this one can publish.
void CoreChecker::Publish(const Instruction& now, std::uint64_t address, const GlobalRegion& buffer) {
    const std::uint64_t line = CacheLineOf(address, buffer);
    Release release;
    release.component = Component(Pipe::kScalar);
    release.tick = now.tick;
    release.sequence = shared_.sequence + 1;
    release.clock = clocks_[static_cast<int>(Pipe::kScalar)];
    release.clock.Raise(release.component, first_incomplete_ == 0 ? now.tick : first_incomplete_ - 1);
    const std::uint64_t bytes = std::min(kCacheLineBytes, buffer.end - line);
    std::memcpy(release.old.data(), reinterpret_cast<const void*>(line), bytes);
    const BufferShadow& shadow = shared_.shadow(buffer);
    release.old_defined = true;
    const std::uint64_t begin = line - buffer.begin;
    for (std::uint64_t index = begin / kGranule; index * kGranule < begin + bytes; ++index) {
        const std::uint32_t mask = ByteMask(index * kGranule, begin, begin + bytes);
        release.old_defined = release.old_defined && (mask & ~shadow.Defined(index)) == 0;
    }
    shared_.AddRelease(line, std::move(release));
}

CoreChecker::Seen CoreChecker::Observe(const Instruction& now, std::uint64_t address, std::uint64_t bytes,
                                       const GlobalRegion& buffer, std::uint32_t filled_at, const Release** release) {
    BufferShadow& shadow = shared_.shadow(buffer);
    const Clock& known = clocks_[static_cast<int>(Pipe::kScalar)];
    const std::uint64_t begin = address - buffer.begin;
    const GlobalAccess* latest = nullptr;
    for (std::uint64_t index = begin / kGranule; index * kGranule < begin + bytes; ++index) {
        const std::uint32_t mask = ByteMask(index * kGranule, begin, begin + bytes);
        for (std::uint32_t entry = shadow.heads[index]; entry != 0; entry = shared_.pool[entry].next) {
            const GlobalAccess& write = shared_.pool[entry];
            const bool foreign = write.component / kPipeCount != static_cast<std::size_t>(core_.index()) &&
                                 write.component % kPipeCount == static_cast<std::size_t>(Pipe::kScalar);
            if (write.write && foreign && (write.mask & mask) != 0 && write.tick > known[write.component] &&
                (latest == nullptr || write.sequence > latest->sequence)) {
                latest = &write;
            }
        }
    }
    if (latest == nullptr || latest->sequence > filled_at) {
        return Seen::kCurrent;
    }
    *release = shared_.FindRelease(CacheLineOf(address, buffer), latest->component, latest->tick);
    if (*release == nullptr || IsAccepted(latest->component, latest->tick)) {
        return Seen::kCurrent;
    }
    const SuspectKey key{now.site, address};
    const auto found = suspects_.find(key);
    if (found != suspects_.end()) {
        suspects_.erase(found);
        accepted_.insert({latest->component, latest->tick});
        JoinAll((*release)->clock);
        return Seen::kCurrent;
    }
    if (!(*release)->old_defined) {
        return Seen::kCurrent;
    }
    Suspect suspect;
    suspect.finding = DescribeConflict(now, Hazard::kReadAfterWrite, "the element", "'" + buffer.name + "'", begin,
                                       latest->site, latest->component, &suspect.key);
    AddSuspect(key, std::move(suspect));
    excused_ = {latest->component, latest->tick};
    return Seen::kOld;
}

void CoreChecker::AddSuspect(const SuspectKey& key, Suspect suspect) {
    std::vector<Suspect>& suspects = suspects_[key];
    for (const Suspect& known : suspects) {
        if (known.key == suspect.key) {
            return;
        }
    }
    suspects.push_back(std::move(suspect));
}

// A scalar store that overwrites what another core's scalar unit has read: whether that core polls is known later.
void CoreChecker::SuspectRead(const Instruction& now, const GlobalAccess& read, std::uint32_t mask, const char* name,
                              BufferShadow& shadow, std::uint64_t granule) {
    const std::uint64_t offset = granule * kGranule + static_cast<std::uint64_t>(__builtin_ctz(read.mask & mask));
    Suspect suspect;
    suspect.finding = DescribeConflict(now, Hazard::kWriteAfterRead, name, "'" + shadow.region->name + "'", offset,
                                       read.site, read.component, &suspect.key);
    CoreChecker& reader = *shared_.cores[read.component / kPipeCount]->checker();
    if (reader.ended_) {
        core_.machine().log().Add(suspect.finding, suspect.key);
        return;
    }
    reader.AddSuspect({read.site, shadow.region->begin + offset}, std::move(suspect));
}

void CoreChecker::End() {
    ReportDirtyLines();
    ended_ = true;
    for (const auto& entry : suspects_) {
        for (const Suspect& suspect : entry.second) {
            core_.machine().log().Add(suspect.finding, suspect.key);
        }
    }
    suspects_.clear();
}

void CoreChecker::ScalarLoadUncached(const Instruction& now, const Operand& element, const GlobalRegion& buffer,
                                     void* value, std::uint32_t bytes) {
    if (!shared_.dirty.empty()) {
        CheckDirty(now, "the element", element.address, element.address + bytes);
    }
    const Release* release = nullptr;
    const Seen seen = Observe(now, element.address, bytes, buffer, shared_.sequence, &release);
    const std::uint64_t begin = element.address - buffer.begin;
    const std::uint64_t in_line = begin % kCacheLineBytes;
    if (seen == Seen::kOld && in_line + bytes <= kCacheLineBytes) {
        std::memcpy(value, release->old.data() + in_line, bytes);
    } else {
        std::memcpy(value, reinterpret_cast<const void*>(element.address), bytes);
    }
    BufferShadow& shadow = shared_.shadow(buffer);
    for (std::uint64_t index = begin / kGranule; index * kGranule < begin + bytes; ++index) {
        ReadGranule(now, "the element", shadow, index, ByteMask(index * kGranule, begin, begin + bytes), true, false);
    }
    excused_ = {};
}

void CoreChecker::ScalarStoreUncached(const Instruction& now, const Operand& element, const GlobalRegion& buffer,
                                      const void* value, std::uint32_t bytes) {
    const std::uint64_t line_address = CacheLineOf(element.address, buffer);
    const auto cached = cache_.find(line_address);
    if (cached != cache_.end()) {
        const std::uint64_t in_line = element.address - line_address;
        const std::uint64_t touched = ((bytes >= 64 ? 0 : std::uint64_t{1} << bytes) - 1) << in_line;
        cached->second.bypassed |= touched;
        if ((cached->second.dirty & touched) != 0) {
            core_.Report(Severity::kError, "data cache",
                         Describe(now.call) + " on " + core_.name() + " stores into '" + buffer.name + "' byte " +
                             std::to_string(element.address - buffer.begin) +
                             " past a dirty line of the core's own data cache, which will overwrite it; "
                             "DataCacheCleanAndInvalid is missing",
                         std::to_string(now.site) + "|bypass");
        }
    }
    Publish(now, element.address, buffer);
    if (first_incomplete_ == 0) {
        first_incomplete_ = now.tick;
    }
    ++shared_.sequence;
    BufferShadow& shadow = shared_.shadow(buffer);
    const std::uint64_t begin = element.address - buffer.begin;
    for (std::uint64_t index = begin / kGranule; index * kGranule < begin + bytes; ++index) {
        WriteGranule(now, "the element", shadow, index, ByteMask(index * kGranule, begin, begin + bytes), false);
    }
    std::memcpy(reinterpret_cast<void*>(element.address), value, bytes);
}

void CoreChecker::PreloadLine(std::uint64_t address, const GlobalRegion& buffer) { Line(address, buffer); }

}  // namespace ascend_attention::sim
