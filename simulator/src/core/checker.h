// SPDX-License-Identifier: Apache-2.0
// Checked mode. Instructions take effect in the order in which the simulator issues them, which is one legal order of
// the machine; the checker proves that every other legal order gives the same result, or says which pair of calls has
// no order. It runs on one host thread, so nothing here locks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/access.h"
#include "core/clock.h"
#include "core/core.h"
#include "core/hazards.h"
#include "core/shadow.h"

namespace ascend_attention::sim {

// Of the scalar unit's data cache. Lines count from the start of the buffer: device buffers are aligned, host memory
// may not be.
constexpr std::uint64_t kCacheLineBytes = 64;
inline std::uint64_t CacheLineOf(std::uint64_t address, const GlobalRegion& buffer) {
    return buffer.begin + (address - buffer.begin) / kCacheLineBytes * kCacheLineBytes;
}

// One instruction under check.
struct Instruction {
    const Call& call;
    Tick tick;
    std::uint32_t site;
    bool ordered_accumulation;  // Mmad on enough fractals: hardware orders it after the one it accumulates on
};

struct CallSite {
    const char* name;
    Site site;
};

// A line of some core's data cache with bytes that global memory does not have yet.
struct DirtyLine {
    const Core* core;
    CallSite written;
    std::uint64_t mask;
};

// What a scalar store to global memory told whoever comes to wait for it, and what its line held before.
struct Release {
    std::size_t component = 0;
    Tick tick = 0;
    std::uint32_t sequence = 0;
    Clock clock;
    std::array<std::uint8_t, kCacheLineBytes> old{};
    bool old_defined = false;
};

// What the cores of a launch share.
class GlobalChecker {
public:
    GlobalChecker(const GlobalMemory& memory, std::size_t cores);

    std::size_t components() const { return components_; }
    std::uint32_t SiteId(const Call& call);
    const CallSite& site(std::uint32_t id) const { return sites_[id]; }
    BufferShadow& shadow(const GlobalRegion& region) { return shadows_[static_cast<std::size_t>(region.index)]; }
    // True the first time a pair of sites is seen: building a message for every granule would take minutes.
    bool FirstOfPair(std::uint32_t earlier, std::uint32_t later, int what);

    // The latest release of each line by each core; the oldest are given up when there are many.
    void AddRelease(std::uint64_t line, Release release);
    const Release* FindRelease(std::uint64_t line, std::size_t component, Tick tick) const;

    EntryPool<GlobalAccess> pool;
    std::uint32_t sequence = 0;
    std::multimap<std::uint64_t, DirtyLine> dirty;  // by host address of the line's first byte
    std::vector<const Core*> cores;                 // by core index

private:
    struct SiteKey {
        const char* name;
        const char* file;
        int line;
        bool operator==(const SiteKey& other) const {
            return name == other.name && file == other.file && line == other.line;
        }
    };
    struct SiteHash {
        std::size_t operator()(const SiteKey& key) const {
            return reinterpret_cast<std::uintptr_t>(key.name) * 31 + reinterpret_cast<std::uintptr_t>(key.file) * 17 +
                   static_cast<std::size_t>(key.line);
        }
    };

    std::size_t components_;
    std::vector<BufferShadow> shadows_;
    std::vector<CallSite> sites_;
    std::unordered_map<SiteKey, std::uint32_t, SiteHash> site_ids_;
    std::unordered_set<std::uint64_t> reported_;
    std::map<std::pair<std::uint64_t, std::size_t>, Release> releases_;
    std::deque<std::pair<std::uint64_t, std::size_t>> release_order_;
};

class CoreChecker {
public:
    CoreChecker(Core& core, GlobalChecker& shared);

    Tick Begin(const Call& call, std::uint32_t* site);

    // `address` is a byte offset in an on-chip memory; the ranges are what the instruction touches.
    void ReadLocal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                   bool computes);
    void WriteLocal(const Instruction& now, const Operand& operand, const char* name, const Region& region);
    void WriteRegister(const Instruction& now, VectorRegister result);
    void ReadRegister(const Instruction& now, VectorRegister result, const char* name);
    void ReadGlobal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                    const GlobalRegion& buffer, bool computes);
    void WriteGlobal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                     const GlobalRegion& buffer);
    void Carry(const Instruction& now, const Operand& to, std::uint64_t to_offset, const Operand& from,
               std::uint64_t from_offset, std::uint64_t bytes);
    void Undefine(const Instruction& now, const Operand& operand, const Region& region);

    bool IsDefined(const Operand& operand, std::uint64_t offset);
    bool AllDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes);
    void SetDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes, bool defined);

    // The scalar unit's view of tracked global memory.
    void ScalarLoad(const Instruction& now, const Operand& element, const GlobalRegion& buffer, void* value,
                    std::uint32_t bytes);
    void ScalarStore(const Instruction& now, const Operand& element, const GlobalRegion& buffer, const void* value,
                     std::uint32_t bytes);
    void ScalarLoadUncached(const Instruction& now, const Operand& element, const GlobalRegion& buffer, void* value,
                            std::uint32_t bytes);
    void ScalarStoreUncached(const Instruction& now, const Operand& element, const GlobalRegion& buffer,
                             const void* value, std::uint32_t bytes);
    void PreloadLine(std::uint64_t address, const GlobalRegion& buffer);
    void CleanLine(const Instruction& now, std::uint64_t address, const GlobalRegion& buffer);
    void CleanAll(const Instruction& now);
    // The core's program has ended.
    void End();

    // Clocks. `Published` is what a flag of that pipe tells: its knowledge and all its instructions so far.
    Clock Published(Pipe pipe) const;
    void Join(Pipe pipe, const Clock& clock) {
        clocks_[static_cast<int>(pipe)].Join(clock);
        knowledge_changed_[static_cast<std::size_t>(pipe)] = true;
    }
    void JoinAll(const Clock& clock);
    void Barrier(Pipe pipe);
    void BarrierAll();
    // Scalar stores so far are complete for whatever is issued from now on (DataSyncBarrier).
    void CompleteScalar();

    // unitFlag: each 512-byte unit of L0C hands over between M and FIX.
    void AcquireUnits(Pipe pipe, std::uint64_t begin, std::uint64_t end);
    void ReleaseUnits(Pipe pipe, std::uint64_t begin, std::uint64_t end);

private:
    struct CacheLine {
        std::array<std::uint8_t, 64> data{};
        std::uint64_t dirty = 0;
        std::uint64_t bypassed = 0;  // bytes that the core itself has stored around its cache since
        std::uint32_t sequence = 0;
        std::uint32_t bytes = 64;  // the last line of a buffer may be shorter
        const GlobalRegion* buffer = nullptr;
        std::uint32_t site = 0;  // last store
    };

    // Where the bookkeeping of a byte is: at `position` of an on-chip memory, or of a buffer's shadow, which is null
    // when all of it is defined (an input).
    struct Place {
        Space space;
        BufferShadow* shadow;
        std::uint64_t position;
    };

    // What a pipe knew from one of its instructions on; kept where the compiler may order (auto_sync.cpp).
    struct Knowledge {
        Tick tick;
        Clock clock;
    };

    // The instruction that last wrote a register.
    struct RegisterWrite {
        Tick tick = 0;
        std::uint32_t site = 0;
        Pipe pipe = Pipe::kVector;
    };

    // The pipe that last handed a unit of L0C over, and what it knew.
    struct UnitRelease {
        Pipe pipe;
        Clock clock;
    };

    // A pair of accesses that is a race unless the reader turns out to poll.
    struct Suspect {
        Finding finding;
        std::string key;
    };
    using SuspectKey = std::pair<std::uint32_t, std::uint64_t>;  // line of code and address of the read
    enum class Seen : std::uint8_t { kCurrent, kOld };

    std::size_t Component(Pipe pipe) const { return base_ + static_cast<std::size_t>(pipe); }
    LocalGranule* Granules(Space space);
    void Conflict(const Instruction& now, Hazard hazard, const char* name, const std::string& place,
                  std::uint64_t offset, std::uint32_t earlier_site, std::size_t earlier_component, Tick earlier_tick);
    // Whether the compiler puts an order between the two; then it is in force from now on.
    bool CompilerOrders(const Instruction& now, Pipe earlier_pipe, Tick earlier_tick, const CallSite& earlier);
    void RememberKnowledge(Pipe pipe, Tick tick);
    Clock KnowledgeAt(Pipe pipe, Tick tick) const;
    Finding DescribeConflict(const Instruction& now, Hazard hazard, const char* name, const std::string& place,
                             std::uint64_t offset, std::uint32_t earlier_site, std::size_t earlier_component,
                             std::string* key) const;
    // Which value a scalar load sees that was filled from memory at that sequence number.
    Seen Observe(const Instruction& now, std::uint64_t address, std::uint64_t bytes, const GlobalRegion& buffer,
                 std::uint32_t filled_at, const Release** release);
    void SuspectRead(const Instruction& now, const GlobalAccess& read, std::uint32_t mask, const char* name,
                     BufferShadow& shadow, std::uint64_t granule);
    void AddSuspect(const SuspectKey& key, Suspect suspect);
    void Publish(const Instruction& now, std::uint64_t address, const GlobalRegion& buffer);
    bool IsAccepted(std::size_t component, Tick tick) const {
        return accepted_.count({component, tick}) != 0 || (excused_.first == component && excused_.second == tick);
    }
    void ReportDirtyLines();
    // Names the first byte of `mask`, counted from `base`, that both touch.
    void LocalConflict(const Instruction& now, Hazard hazard, const char* name, Space space, std::uint64_t base,
                       std::uint32_t mask, const LocalAccess& earlier);
    void Uninitialised(const Instruction& now, const char* name, const std::string& place, std::uint64_t offset);
    void UndefinedOutput(const Instruction& now, const GlobalRegion& buffer, std::uint64_t offset);
    void ReadGranule(const Instruction& now, const char* name, BufferShadow& shadow, std::uint64_t granule,
                     std::uint32_t mask, bool computes, bool atomic);
    void WriteGranule(const Instruction& now, const char* name, BufferShadow& shadow, std::uint64_t granule,
                      std::uint32_t mask, bool atomic);
    void CheckDirty(const Instruction& now, const char* name, std::uint64_t begin, std::uint64_t end);
    CacheLine& Line(std::uint64_t address, const GlobalRegion& buffer);
    void WriteBack(const Instruction& now, std::uint64_t address, CacheLine& line);
    bool IsAtomic(const Instruction& now) const;
    template <typename Judge>
    void Visit(LocalGranule& granule, bool writes, std::uint32_t mask, Judge judge);
    void Remember(LocalGranule& granule, bool write, const LocalAccess& access);
    Place Locate(const Operand& operand, std::uint64_t offset);
    std::uint32_t DefinedMask(const Place& place, std::uint64_t granule);

    Core& core_;
    GlobalChecker& shared_;
    std::size_t base_;  // first component of this core
    std::array<Clock, kPipeCount> clocks_;
    std::array<Tick, kPipeCount> issued_{};
    std::array<std::unique_ptr<LocalGranule[], FreeDelete>, kSpaceCount> local_;
    std::unordered_map<std::uint64_t, CacheLine> cache_;  // by host address of the line
    EntryPool<ListedAccess> listed_;
    std::map<std::uint64_t, UnitRelease> units_;
    bool auto_sync_;
    std::array<bool, kPipeCount> knowledge_changed_{};
    std::array<std::deque<Knowledge>, kPipeCount> knowledge_;
    std::array<RegisterWrite, kVectorRegisterCount> registers_{};
    std::map<SuspectKey, std::vector<Suspect>> suspects_;
    std::set<std::pair<std::size_t, Tick>> accepted_;  // stores of other cores that this one has waited for
    std::pair<std::size_t, Tick> excused_{};           // the store that the current load is not judged against
    Tick first_incomplete_ = 0;                        // store around the cache since the last DataSyncBarrier, or 0
    bool ended_ = false;
};

// Contiguous pieces of a region, as few as possible.
template <typename Visit>
void ForEachPiece(const Region& region, std::uint64_t address, Visit visit) {
    std::uint64_t bytes = region.bytes;
    std::uint64_t count0 = region.stride0 == 0 && region.count0 > 1 ? 1 : region.count0;
    std::uint64_t count1 = region.stride1 == 0 && region.count1 > 1 ? 1 : region.count1;
    if (count0 > 1 && region.stride0 == bytes) {
        bytes *= count0;
        count0 = 1;
    }
    if (count0 == 1 && count1 > 1 && region.stride1 == bytes) {
        bytes *= count1;
        count1 = 1;
    }
    for (std::uint64_t i1 = 0; i1 < count1; ++i1) {
        for (std::uint64_t i0 = 0; i0 < count0; ++i0) {
            const std::uint64_t begin = address + region.offset + i0 * region.stride0 + i1 * region.stride1;
            visit(begin, begin + bytes);
        }
    }
}

}  // namespace ascend_attention::sim
