// SPDX-License-Identifier: Apache-2.0
// Synchronisation of vector cores through words in global memory, as the framework does it: IBSet and IBWait, the
// ordered turns of deterministic computation, GroupBarrier, the soft SyncAll. The words are real, so a workspace that
// is too small or was not zeroed shows; what a word tells about other memory is kept beside it.
#include <algorithm>
#include <cstring>
#include <string>

#include "core/access.h"
#include "core/checker.h"
#include "core/fiber.h"
#include "core/machine.h"
#include "core/sync.h"
#include "core/sync_trace.h"
#include "machine/core_calls.h"
#include "machine/memory_flag_calls.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kBlock = 32;
constexpr std::uint64_t kGroupLine = 512;  // a counter of GroupBarrier per member
constexpr std::uint64_t kGroupWait = 64;   // from the counters of arrivals to those of waits

std::int32_t LoadWord(std::uint64_t address) {
    return __atomic_load_n(reinterpret_cast<const std::int32_t*>(address), __ATOMIC_ACQUIRE);
}

void StoreWord(std::uint64_t address, std::int32_t value) {
    __atomic_store_n(reinterpret_cast<std::int32_t*>(address), value, __ATOMIC_RELEASE);
}

void AddToWord(std::uint64_t address, std::int32_t value) {
    __atomic_fetch_add(reinterpret_cast<std::int32_t*>(address), value, __ATOMIC_ACQ_REL);
}

[[noreturn]] void Refuse(Core& core, const Call& call, const char* kind, const std::string& problem) {
    core.Fail(kind, Describe(call) + " on " + core.name() + ": " + problem, SiteKey(call.site));
}

// `bytes` of the workspace in global memory.
void RequireWords(Core& core, const Call& call, std::uint64_t address, std::uint64_t bytes) {
    const GlobalRegion* region = core.FindGlobal(address);
    if (region == nullptr) {
        Refuse(core, call, "bounds",
               "the workspace lies outside every buffer of the launch: " +
                   core.machine().global().DescribeNearest(address));
    }
    if (bytes > region->end - address) {
        Refuse(core, call, "bounds",
               "the workspace needs bytes [" + std::to_string(address - region->begin) + ", " +
                   std::to_string(address - region->begin + bytes) + "), but buffer '" + region->name + "' has " +
                   std::to_string(region->end - region->begin) + " bytes");
    }
    if (!region->writable) {
        Refuse(core, call, "read-only", "the workspace '" + region->name + "' is an input of the kernel");
    }
    if (address % sizeof(std::int32_t) != 0) {
        Refuse(core, call, "alignment", "the workspace is not aligned to 4 bytes");
    }
}

// A word that the documents want zeroed by whoever launches.
void RequireDefinedWord(Core& core, const Call& call, std::uint64_t address) {
    Operand operand;
    operand.space = Space::kGlobal;
    operand.address = address;
    if (core.checker() != nullptr && !core.checker()->AllDefined(operand, 0, sizeof(std::int32_t))) {
        Refuse(core, call, "uninitialised", "the workspace must be zero before the kernel starts");
    }
}

// The bytes of UB that the framework works with: read and overwritten.
void TakeUb(Core& core, const Call& call, const Operand& ub, std::uint64_t bytes) {
    const Call copy{call.name, Pipe::kMte2, call.site};
    Access access(core, copy);
    access.RequireSpace(ub, "ubWorkspace", Space::kUb);
    access.RequireAligned(ub, "ubWorkspace", kBlock);
    access.Writes(ub, "ubWorkspace", Region{0, bytes});
}

// Waits until `ready`, and learns what was published at `address`.
template <typename Ready>
void WaitForWord(Core& core, const Call& call, std::uint64_t address, const std::string& what, Ready ready,
                 std::int32_t round = 0) {
    if (core.recorder() != nullptr) {
        Refuse(core, call, "not modelled", "it waits through global memory, which timed mode does not replay");
    }
    core.waits_for = call;
    core.sync().waits_for = what;
    core.sync().can_go_on = ready;
    while (!core.sync().can_go_on()) {
        YieldFiber();
        if (core.machine().stopping()) {
            core.sync().can_go_on = nullptr;
            core.End();
        }
    }
    core.sync().can_go_on = nullptr;
    core.waits_for.name = nullptr;
    if (core.checker() != nullptr) {
        core.machine().flags().words().Learn(core, address, round);
    }
}

// After a PIPE_ALL barrier every pipe knows the same; the pipe that writes the word tells what it knows.
void Tell(Core& core, std::uint64_t address, std::int32_t round = 0) {
    if (core.checker() != nullptr) {
        core.machine().flags().words().Publish(core, address, round);
    }
}

std::uint64_t IbWord(Core& core, const Call& call, const Operand& gm, bool aiv_only, int block, int event) {
    const std::int64_t cores = BlockCount() * (aiv_only ? 1 : 2);
    if (block < 0 || event < 0) {
        Refuse(core, call, "parameter",
               "blockIdx is " + std::to_string(block) + " and eventID is " + std::to_string(event) +
                   ", allowed: 0 and more");
    }
    const std::uint64_t offset =
        (static_cast<std::uint64_t>(cores) * static_cast<std::uint64_t>(event) + static_cast<std::uint64_t>(block)) *
        kBlock;
    RequireWords(core, call, gm.address + offset, kBlock);
    RequireDefinedWord(core, call, gm.address + offset);
    return gm.address + offset;
}

// IBSet turns 0 into 1, IBWait 1 into 0.
void PassWord(const char* name, const Operand& gm, const Operand& ub, bool aiv_only, int block, int event,
              std::int32_t from, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding() || core.type() == CoreType::kCube) {
        return;
    }
    const Call call{name, Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{name, Pipe::kAll, Pipe::kAll, -1, event, false, site})) {
        return;
    }
    Barrier(Pipe::kAll, site, true);
    const std::uint64_t word = IbWord(core, call, gm, aiv_only, block, event);
    TakeUb(core, call, ub, kBlock);
    WaitForWord(core, call, word,
                "blockIdx " + std::to_string(block) + ", eventID " + std::to_string(event) + " to become " +
                    std::to_string(from),
                [word, from] { return LoadWord(word) == from; });
    Barrier(Pipe::kAll, site, true);
    Tell(core, word);
    StoreWord(word, 1 - from);
    core.machine().Progress();
}

}  // namespace

void MemoryFlags::Publish(Core& core, std::uint64_t address, std::int32_t round) {
    told_[{address, round}].Join(core.checker()->Published(Pipe::kMte3));
}

void MemoryFlags::Learn(Core& core, std::uint64_t address, std::int32_t round) {
    const auto found = told_.find({address, round});
    if (found != told_.end()) {
        core.checker()->JoinAll(found->second);
    }
}

void IbSet(const Operand& gm, const Operand& ub, bool aiv_only, int block, int event, Site site) {
    PassWord("IBSet", gm, ub, aiv_only, block, event, 0, site);
}

void IbWait(const Operand& gm, const Operand& ub, bool aiv_only, int block, int event, Site site) {
    PassWord("IBWait", gm, ub, aiv_only, block, event, 1, site);
}

// ---- Turns in the order of the blocks ----

namespace {

// The round a core is in, kept in UB behind the copies of the words.
std::byte* RoundInUb(Core& core, const Call& call, const Operand& ub, bool writes) {
    Access access(core, call);
    const Region region{static_cast<std::uint64_t>(BlockCount()) * kBlock, sizeof(std::int32_t)};
    std::byte* at = writes ? access.Writes(ub, "ubWorkspace", region)
                           : const_cast<std::byte*>(access.Reads(ub, "ubWorkspace", region));
    return at + region.offset;
}

struct Turn {
    std::uint64_t words;
    std::int64_t block;
    std::int64_t blocks;
};

Turn BeginTurn(Core& core, const Call& call, const Operand& gm, const Operand& ub) {
    const Turn turn{gm.address, BlockIndex(), BlockCount()};
    Barrier(Pipe::kAll, call.site, true);
    if (turn.block >= turn.blocks) {
        Refuse(core, call, "parameter", "this form is for kernels of vector cores only");
    }
    RequireWords(core, call, gm.address, static_cast<std::uint64_t>(turn.blocks) * kBlock);
    TakeUb(core, call, ub, static_cast<std::uint64_t>(turn.blocks) * kBlock);
    Barrier(Pipe::kAll, call.site, true);
    return turn;
}

}  // namespace

void InitTurns(const Operand& gm, const Operand& ub, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding() || core.type() == CoreType::kCube) {
        return;
    }
    const Call call{"InitDetermineComputeWorkspace", Pipe::kScalar, site};
    const Turn turn = BeginTurn(core, call, gm, ub);
    if (turn.block == 0) {
        for (std::int64_t i = 0; i < turn.blocks; ++i) {
            StoreWord(turn.words + static_cast<std::uint64_t>(i) * kBlock, 0);
        }
        core.machine().Progress();
    }
    const std::int32_t first_round = 1;
    std::memcpy(RoundInUb(core, call, ub, true), &first_round, sizeof first_round);
    Barrier(Pipe::kAll, site, true);
}

void WaitTurn(const Operand& gm, const Operand& ub, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding() || core.type() == CoreType::kCube) {
        return;
    }
    const Call call{"WaitPreBlock", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, Pipe::kAll, Pipe::kAll, -1, -1, false, site})) {
        return;
    }
    const Turn turn = BeginTurn(core, call, gm, ub);
    std::int32_t round = 0;
    std::memcpy(&round, RoundInUb(core, call, ub, false), sizeof round);
    WaitForWord(core, call, turn.words, "block " + std::to_string(turn.block - 1) + " to call NotifyNextBlock",
                [turn, round] {
                    for (std::int64_t i = 0; i < turn.blocks; ++i) {
                        const std::int32_t want = i < turn.block ? round : 0;
                        if (LoadWord(turn.words + static_cast<std::uint64_t>(i) * kBlock) != want) {
                            return false;
                        }
                    }
                    return true;
                });
    Barrier(Pipe::kAll, site, true);
}

void EndTurn(const Operand& gm, const Operand& ub, Site site) {
    Core& core = CurrentCore();
    if (core.Unwinding() || core.type() == CoreType::kCube) {
        return;
    }
    const Call call{"NotifyNextBlock", Pipe::kScalar, site};
    if (IgnoresSync(core, SyncPoint{call.name, Pipe::kAll, Pipe::kAll, -1, -1, false, site})) {
        return;
    }
    const Turn turn = BeginTurn(core, call, gm, ub);
    std::int32_t round = 0;
    std::memcpy(&round, RoundInUb(core, call, ub, false), sizeof round);
    Tell(core, turn.words);
    if (turn.block + 1 == turn.blocks) {
        for (std::int64_t i = turn.blocks - 1; i >= 0; --i) {
            StoreWord(turn.words + static_cast<std::uint64_t>(i) * kBlock, 0);
        }
    } else {
        StoreWord(turn.words + static_cast<std::uint64_t>(turn.block) * kBlock, round);
    }
    core.machine().Progress();
    ++round;
    std::memcpy(RoundInUb(core, call, ub, true), &round, sizeof round);
    Barrier(Pipe::kAll, site, true);
}

// ---- GroupBarrier ----

namespace {

void RequireGroup(Core& core, const Call& call, const GroupCall& group, std::uint32_t members) {
    if (group.arrivals == 0 || group.waits == 0) {
        Refuse(core, call, "parameter", "arriveSize and waitSize must be at least 1");
    }
    if (group.index >= members) {
        Refuse(core, call, "parameter",
               "the index is " + std::to_string(group.index) + ", allowed: 0.." + std::to_string(members - 1));
    }
    const std::uint64_t lines = std::max(group.arrivals, group.waits);
    RequireWords(core, call, group.workspace, (lines - 1) * kGroupLine + kGroupWait + kBlock);
}

// MTE3 adds one to a word per member of the larger group, after what it has stored before.
void CountUp(Core& core, const GroupCall& group, std::uint64_t words) {
    PassFlag(Pipe::kScalar, Pipe::kMte3, group.site);
    Tell(core, words);
    for (std::uint64_t i = 0; i < std::max(group.arrivals, group.waits); ++i) {
        AddToWord(words + i * kGroupLine, 1);
    }
    core.machine().Progress();
}

}  // namespace

void GroupArrive(const GroupCall& group) {
    Core& core = CurrentCore();
    if (core.Unwinding() || core.type() == CoreType::kCube) {
        return;
    }
    const Call call{"Arrive", Pipe::kScalar, group.site};
    core.CountInstruction(call);
    RequireGroup(core, call, group, group.arrivals);
    if (group.round > 1) {
        const std::uint64_t word = group.workspace + kGroupWait + group.index * kGroupLine;
        const auto want = static_cast<std::int32_t>((group.round - 1) * group.waits);
        WaitForWord(core, call, group.workspace + kGroupWait, "the waiters of the round before",
                    [word, want] { return LoadWord(word) == want; });
    }
    RequireDefinedWord(core, call, group.workspace);
    CountUp(core, group, group.workspace);
}

void GroupWait(const GroupCall& group) {
    Core& core = CurrentCore();
    if (core.Unwinding() || core.type() == CoreType::kCube) {
        return;
    }
    const Call call{"Wait", Pipe::kScalar, group.site};
    core.CountInstruction(call);
    RequireGroup(core, call, group, group.waits);
    const std::uint64_t word = group.workspace + group.index * kGroupLine;
    RequireDefinedWord(core, call, word);
    const auto want = static_cast<std::int32_t>(group.round * group.arrivals);
    WaitForWord(core, call, group.workspace, "GroupBarrier's arrivals",
                [word, want] { return LoadWord(word) >= want; });
    CountUp(core, group, group.workspace + kGroupWait);
}

// ---- SyncAll with words ----

void SoftSyncAll(const Operand& gm, const Operand& ub, int used_cores, Site site) {
    Core& core = CurrentCore();
    if (core.type() == CoreType::kCube) {
        return;  // as the device headers do
    }
    const Call call{"SyncAll", Pipe::kScalar, site};
    if (core.Unwinding() || IgnoresSync(core, SyncPoint{call.name, Pipe::kAll, Pipe::kAll, 1, -1, false, site})) {
        return;
    }
    PassBarrier(core, Pipe::kAll, site);
    const std::int64_t all = BlockCount() * SubBlockCount();
    const std::int64_t cores = used_cores == 0 ? all : used_cores;
    if (cores < 0 || cores > all) {
        Refuse(core, call, "parameter",
               "usedCores is " + std::to_string(used_cores) + ", allowed: 0.." + std::to_string(all));
    }
    if (BlockIndex() >= cores) {
        Refuse(core, call, "parameter",
               "only the first " + std::to_string(cores) + " vector cores take part, this is number " +
                   std::to_string(BlockIndex()));
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(cores) * kBlock;
    RequireWords(core, call, gm.address, bytes);
    const std::uint64_t mine = gm.address + static_cast<std::uint64_t>(BlockIndex()) * kBlock;
    RequireDefinedWord(core, call, mine);
    TakeUb(core, call, ub, bytes);
    PassBarrier(core, Pipe::kAll, site);
    // A fast core may be in the next meeting before a slow one has left this one: each round tells its own.
    const std::int32_t round = LoadWord(mine) + 1;
    Tell(core, gm.address, round);
    StoreWord(mine, round);
    core.machine().Progress();
    const std::uint64_t words = gm.address;
    WaitForWord(
        core, call, words, "the other cores' words",
        [words, cores, round] {
            for (std::int64_t i = 0; i < cores; ++i) {
                if (LoadWord(words + static_cast<std::uint64_t>(i) * kBlock) < round) {
                    return false;
                }
            }
            return true;
        },
        round);
    PassBarrier(core, Pipe::kAll, site);
}

}  // namespace ascend_attention::sim
