// SPDX-License-Identifier: Apache-2.0
// On-chip memories in checked mode, and which bytes of any memory are defined.
#include <algorithm>

#include "core/checker.h"
#include "core/machine.h"

namespace ascend_attention::sim {

// ---- Accesses ----

// Hands every earlier read (or write) of some of these bytes to `judge`, and takes them away where it says so.
template <typename Judge>
void CoreChecker::Visit(LocalGranule& granule, bool writes, std::uint32_t mask, Judge judge) {
    for (LocalAccess& earlier : writes ? granule.writes : granule.reads) {
        if ((earlier.mask & mask) != 0 && judge(earlier)) {
            earlier.mask &= ~mask;
        }
    }
    if (granule.more == 0) {
        return;
    }
    std::uint32_t* link = &granule.more;
    while (*link != 0) {
        ListedAccess& entry = listed_[*link];
        if (entry.write == writes && (entry.access.mask & mask) != 0 && judge(entry.access)) {
            entry.access.mask &= ~mask;
            if (entry.access.mask == 0) {
                const std::uint32_t dead = *link;
                *link = entry.next;
                listed_.Give(dead);
                continue;
            }
        }
        link = &entry.next;
    }
}

// Call after Visit has taken away what this access replaces: accesses of one pipe then never share a byte.
void CoreChecker::Remember(LocalGranule& granule, bool write, const LocalAccess& access) {
    for (LocalAccess& slot : write ? granule.writes : granule.reads) {
        if (slot.mask == 0) {
            slot = access;
            return;
        }
        if (slot.tick == access.tick && slot.pipe() == access.pipe()) {
            slot.mask |= access.mask;  // another piece of the same instruction
            return;
        }
    }
    const std::uint32_t fresh = listed_.Take();
    listed_[fresh] = ListedAccess{granule.more, access, write};
    granule.more = fresh;
}

void CoreChecker::ReadLocal(const Instruction& now, const Operand& operand, const char* name, const Region& region,
                            bool computes) {
    LocalGranule* granules = Granules(operand.space);
    const Pipe pipe = now.call.pipe;
    const Tick* known = clocks_[static_cast<int>(pipe)].data() + base_;
    const std::uint32_t site = (now.site << 3) | static_cast<std::uint32_t>(pipe);
    ForEachPiece(region, operand.address, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
            LocalGranule& granule = granules[index];
            const std::uint64_t base = index * kGranule;
            const std::uint32_t mask = ByteMask(base, begin, end);
            Visit(granule, true, mask, [&](const LocalAccess& write) {
                if (write.tick > known[static_cast<int>(write.pipe())] &&
                    !(write.pipe() == pipe && write.tick == now.tick)) {
                    LocalConflict(now, Hazard::kReadAfterWrite, name, operand.space, base, mask, write);
                }
                return false;
            });
            // Whoever is ordered after this read is ordered after earlier reads of the same pipe.
            Visit(granule, false, mask, [&](const LocalAccess& read) { return read.pipe() == pipe; });
            Remember(granule, false, LocalAccess{now.tick, site, mask});
            if (computes && (mask & ~granule.defined) != 0) {
                const int first = __builtin_ctz(mask & ~granule.defined);
                Uninitialised(now, name, NameOf(operand.space), base + static_cast<std::uint64_t>(first));
            }
        }
    });
}

void CoreChecker::WriteLocal(const Instruction& now, const Operand& operand, const char* name, const Region& region) {
    LocalGranule* granules = Granules(operand.space);
    const Pipe pipe = now.call.pipe;
    const Tick* known = clocks_[static_cast<int>(pipe)].data() + base_;
    const std::uint32_t site = (now.site << 3) | static_cast<std::uint32_t>(pipe);
    ForEachPiece(region, operand.address, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
            LocalGranule& granule = granules[index];
            const std::uint64_t base = index * kGranule;
            const std::uint32_t mask = ByteMask(base, begin, end);
            std::uint32_t accumulated = 0;  // bytes whose dependence was judged when the instruction read them
            Visit(granule, false, mask, [&](const LocalAccess& read) {
                if (read.pipe() == pipe && read.tick == now.tick) {
                    accumulated |= read.mask;
                } else if (read.tick > known[static_cast<int>(read.pipe())]) {
                    LocalConflict(now, Hazard::kWriteAfterRead, name, operand.space, base, mask, read);
                }
                return true;
            });
            Visit(granule, true, mask, [&](const LocalAccess& write) {
                const bool own = write.pipe() == pipe;
                if (write.tick > known[static_cast<int>(write.pipe())] && !(own && write.tick == now.tick) &&
                    !(own && pipe == Pipe::kCube && (write.mask & mask & ~accumulated) == 0)) {
                    LocalConflict(now, Hazard::kWriteAfterWrite, name, operand.space, base, mask, write);
                }
                return true;
            });
            Remember(granule, true, LocalAccess{now.tick, site, mask});
            granule.defined |= mask;
        }
    });
}

void CoreChecker::WriteRegister(const Instruction& now, VectorRegister result) {
    registers_[static_cast<int>(result)] = RegisterWrite{now.tick, now.site, now.call.pipe};
}

void CoreChecker::ReadRegister(const Instruction& now, VectorRegister result, const char* name) {
    const RegisterWrite& write = registers_[static_cast<int>(result)];
    if (write.tick > clocks_[static_cast<int>(now.call.pipe)][Component(write.pipe)]) {
        Conflict(now, Hazard::kReadAfterWrite, name, "register", 0, write.site, Component(write.pipe), write.tick);
    }
}

// ---- Definedness ----

CoreChecker::Place CoreChecker::Locate(const Operand& operand, std::uint64_t offset) {
    const std::uint64_t address = operand.address + offset;
    if (operand.space != Space::kGlobal) {
        return Place{operand.space, nullptr, address};
    }
    const GlobalRegion* region = core_.FindGlobal(address);
    if (region == nullptr || !shared_.shadow(*region).tracked) {
        return Place{Space::kGlobal, nullptr, 0};
    }
    return Place{Space::kGlobal, &shared_.shadow(*region), address - region->begin};
}

std::uint32_t CoreChecker::DefinedMask(const Place& place, std::uint64_t granule) {
    return place.shadow != nullptr ? place.shadow->Defined(granule) : Granules(place.space)[granule].defined;
}

bool CoreChecker::IsDefined(const Operand& operand, std::uint64_t offset) { return AllDefined(operand, offset, 1); }

bool CoreChecker::AllDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes) {
    const Place place = Locate(operand, offset);
    if (place.space == Space::kGlobal && place.shadow == nullptr) {
        return true;
    }
    const std::uint64_t begin = place.position;
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
        if ((ByteMask(index * kGranule, begin, end) & ~DefinedMask(place, index)) != 0) {
            return false;
        }
    }
    return true;
}

void CoreChecker::SetDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes, bool defined) {
    const Place place = Locate(operand, offset);
    if (place.space == Space::kGlobal && place.shadow == nullptr) {
        return;
    }
    const std::uint64_t begin = place.position;
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t index = begin / kGranule; index * kGranule < end; ++index) {
        const std::uint32_t mask = ByteMask(index * kGranule, begin, end);
        if (place.shadow != nullptr) {
            place.shadow->SetDefined(index, mask, defined);
        } else {
            std::uint32_t& bits = Granules(place.space)[index].defined;
            bits = defined ? bits | mask : bits & ~mask;
        }
    }
}

void CoreChecker::Carry(const Instruction& now, const Operand& to, std::uint64_t to_offset, const Operand& from,
                        std::uint64_t from_offset, std::uint64_t bytes) {
    if (AllDefined(from, from_offset, bytes)) {
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
