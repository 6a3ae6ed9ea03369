// SPDX-License-Identifier: Apache-2.0
#include "core/access.h"

#include <limits>
#include <string>

#include "core/checker.h"
#include "core/core.h"
#include "core/findings.h"
#include "core/machine.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

std::string Range(std::uint64_t begin, std::uint64_t end) {
    return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

// "src0 (UB float16)": which operand of the call a message is about.
std::string DescribeOperand(const Operand& operand, const char* name) {
    return std::string(name) + " (" + NameOf(operand.space) + " " + NameOf(operand.dtype) + ")";
}

std::string Key(const Call& call, const char* what) {
    return std::string(call.name) + "|" + call.site.file + ":" + std::to_string(call.site.line) + "|" + what;
}

// Sums and products that stay at the largest number instead of wrapping: an address computed by device code can be
// anything, and a bound that has wrapped passes every test.
constexpr std::uint64_t kBeyond = std::numeric_limits<std::uint64_t>::max();
std::uint64_t Add(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? kBeyond : sum;
}
std::uint64_t Multiply(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kBeyond : product;
}

// One byte past the last byte of the region.
std::uint64_t EndOf(const Operand& operand, const Region& region) {
    const std::uint64_t rows =
        Add(Multiply(region.count0 - 1, region.stride0), Multiply(region.count1 - 1, region.stride1));
    return Add(Add(operand.address, region.offset), Add(rows, region.bytes));
}
std::uint64_t BeginOf(const Operand& operand, const Region& region) { return Add(operand.address, region.offset); }

bool IsEmpty(const Region& region) { return region.bytes == 0 || region.count0 == 0 || region.count1 == 0; }

// A tensor that the kernel placed by hand reaches further than its author said: the machine does not mind, whoever owns
// the bytes behind it may.
void OutOfDeclaredBounds(Core& core, const Call& call, const Operand& operand, const char* name, const char* verb,
                         std::uint64_t begin, std::uint64_t end) {
    core.Report(Severity::kWarning, "bounds",
                Describe(call) + " on " + core.name() + ": " + DescribeOperand(operand, name) + " " + verb + " bytes " +
                    Range(begin, end) + ", but the kernel declared this tensor as " + Range(operand.begin, operand.end),
                Key(call, name));
}

[[noreturn]] void OutOfBounds(Core& core, const Call& call, const Operand& operand, const char* name, const char* verb,
                              std::uint64_t begin, std::uint64_t end, const std::string& limit) {
    core.Fail("bounds",
              Describe(call) + " on " + core.name() + ": " + DescribeOperand(operand, name) + " " + verb + " bytes " +
                  Range(begin, end) + ", " + limit,
              Key(call, name));
}

// CheckLocalMemoryIA: the kernel has asked to be stopped here.
void CheckWatches(Core& core, const Call& call, const Operand& operand, const char* name, bool writes,
                  const Region& region) {
    for (const WatchRange& watch : core.watches) {
        const std::uint8_t pipes = writes ? watch.writers : watch.readers;
        if (!watch.enabled || (pipes >> static_cast<int>(call.pipe) & 1U) == 0) {
            continue;
        }
        ForEachPiece(region, operand.address, [&](std::uint64_t begin, std::uint64_t end) {
            if (begin < watch.end && end > watch.begin) {
                core.Fail("watch",
                          Describe(call) + " on " + core.name() + ": " + DescribeOperand(operand, name) +
                              (writes ? " writes" : " reads") + " bytes " + Range(begin, end) +
                              ", and CheckLocalMemoryIA watches " + Range(watch.begin, watch.end),
                          Key(call, name));
            }
        });
    }
}

// The only per-operand cost of fast mode: one bounding-box test against the buffer and against the memory.
std::byte* CheckLocal(Core& core, const Call& call, const Operand& operand, const char* name, const char* verb,
                      const Region& region) {
    const std::uint64_t begin = BeginOf(operand, region);
    const std::uint64_t end = EndOf(operand, region);
    const std::uint64_t size = core.memory_bytes(operand.space);
    const std::uint64_t limit = operand.end != 0 && operand.end < size ? operand.end : size;
    if (end > limit || begin < operand.begin) {
        if (operand.placed && end <= size) {
            OutOfDeclaredBounds(core, call, operand, name, verb, begin, end);
            return core.memory(operand.space) + operand.address;
        }
        std::string text;
        if (size == 0) {
            text = std::string("but this core has no ") + NameOf(operand.space);
        } else if (operand.begin == kNoMemory) {
            text = "but the tensor has no memory: it was declared and never assigned";
        } else if (operand.end != 0 && (end > operand.end || begin < operand.begin)) {
            text = "but its buffer is " + Range(operand.begin, operand.end);
        } else {
            text = std::string("but ") + NameOf(operand.space) + " has " + std::to_string(size) + " usable bytes";
        }
        OutOfBounds(core, call, operand, name, verb, begin, end, text);
    }
    if (core.watching && operand.space == Space::kUb) {
        CheckWatches(core, call, operand, name, verb[0] == 'w', region);
    }
    return core.memory(operand.space) + operand.address;
}

std::byte* CheckGlobal(Core& core, const Call& call, const Operand& operand, const char* name, const char* verb,
                       const Region& region, const GlobalRegion** found) {
    const std::uint64_t begin = BeginOf(operand, region);
    const std::uint64_t end = EndOf(operand, region);
    const GlobalRegion* buffer = core.FindGlobal(begin);
    if (buffer == nullptr) {
        core.Fail("bounds",
                  Describe(call) + " on " + core.name() + ": " + DescribeOperand(operand, name) + " " + verb + " " +
                      std::to_string(end - begin) +
                      " bytes outside every buffer of the launch: " + core.machine().global().DescribeNearest(begin),
                  Key(call, name));
    }
    if (end > buffer->end) {
        OutOfBounds(core, call, operand, name, verb, begin - buffer->begin, end - buffer->begin,
                    "but buffer '" + buffer->name + "' has " + std::to_string(buffer->end - buffer->begin) + " bytes");
    }
    *found = buffer;
    return reinterpret_cast<std::byte*>(operand.address);
}

}  // namespace

Access::Access(Core& core, const Call& call) : core_(core), call_(call) {
    core.CountInstruction(call);
    if (core.checker() != nullptr) {
        tick_ = core.checker()->Begin(call, &site_);
    }
    recorder_ = core.recorder();
    if (recorder_ != nullptr) {
        recorder_->Begin(call);
    }
}

Access::~Access() {
    if (recorder_ != nullptr) {
        recorder_->End();
    }
}

void Access::CostsAs(const CostRows& names, std::uint64_t rows) {
    if (recorder_ != nullptr) {
        recorder_->CostsAs(names, rows);
    }
}

void Access::SetsMask() {
    if (recorder_ != nullptr) {
        recorder_->SetsMask();
    }
}

void Access::Looks() {
    if (recorder_ != nullptr) {
        recorder_->Looks();
    }
}

void Access::Products(std::uint64_t count) {
    if (recorder_ != nullptr) {
        recorder_->Products(count);
    }
}

void Access::Work(std::uint64_t units) {
    if (recorder_ != nullptr) {
        recorder_->Work(units);
    }
}

void Access::Require(bool ok, const char* parameter, std::int64_t given, const char* allowed) {
    if (!ok) {
        core_.Fail("parameter",
                   Describe(call_) + " on " + core_.name() + ": " + parameter + " is " + std::to_string(given) +
                       ", allowed: " + allowed,
                   Key(call_, parameter));
    }
}

void Access::RequireAligned(const Operand& operand, const char* name, std::uint64_t alignment) {
    if (operand.address % alignment != 0) {
        core_.Fail("alignment",
                   Describe(call_) + " on " + core_.name() + ": " + DescribeOperand(operand, name) +
                       " starts at byte " + std::to_string(operand.address) + ", which is not a multiple of " +
                       std::to_string(alignment),
                   Key(call_, name));
    }
}

void Access::RequireSpace(const Operand& operand, const char* name, Space space) {
    if (operand.space != space) {
        core_.Fail("parameter",
                   Describe(call_) + " on " + core_.name() + ": " + name + " lies in " + NameOf(operand.space) +
                       ", it must lie in " + NameOf(space),
                   Key(call_, name));
    }
}

namespace {

std::byte* Nothing(Core& core, const Operand& operand) {
    return operand.space == Space::kGlobal ? reinterpret_cast<std::byte*>(operand.address)
                                           : core.memory(operand.space) + operand.address;
}

const std::byte* Read(Core& core, const Instruction& now, const Operand& operand, const char* name,
                      const Region& region, bool computes) {
    if (IsEmpty(region)) {
        return Nothing(core, operand);
    }
    if (operand.space == Space::kGlobal) {
        const GlobalRegion* buffer = nullptr;
        const std::byte* pointer = CheckGlobal(core, now.call, operand, name, "reads", region, &buffer);
        core.global_bytes_read += region.bytes * region.count0 * region.count1;
        if (core.checker() != nullptr) {
            core.checker()->ReadGlobal(now, operand, name, region, *buffer, computes);
        }
        if (core.recorder() != nullptr) {
            core.recorder()->Operand(operand, false, region, buffer);
        }
        return pointer;
    }
    const std::byte* pointer = CheckLocal(core, now.call, operand, name, "reads", region);
    if (core.checker() != nullptr) {
        core.checker()->ReadLocal(now, operand, name, region, computes);
    }
    if (core.recorder() != nullptr) {
        core.recorder()->Operand(operand, false, region, nullptr);
    }
    return pointer;
}

}  // namespace

const std::byte* Access::Reads(const Operand& operand, const char* name, const Region& region) {
    return Read(core_, Instruction{call_, tick_, site_, ordered_accumulation_}, operand, name, region, true);
}

const std::byte* Access::ReadsToCarry(const Operand& operand, const char* name, const Region& region) {
    return Read(core_, Instruction{call_, tick_, site_, ordered_accumulation_}, operand, name, region, false);
}

std::byte* Access::Writes(const Operand& operand, const char* name, const Region& region) {
    if (IsEmpty(region)) {
        return Nothing(core_, operand);
    }
    const Instruction now{call_, tick_, site_, ordered_accumulation_};
    if (operand.space == Space::kGlobal) {
        const GlobalRegion* buffer = nullptr;
        std::byte* pointer = CheckGlobal(core_, call_, operand, name, "writes", region, &buffer);
        core_.global_bytes_written += region.bytes * region.count0 * region.count1;
        if (!buffer->writable) {
            core_.Fail("read-only",
                       Describe(call_) + " on " + core_.name() + ": " + DescribeOperand(operand, name) +
                           " writes into buffer '" + buffer->name + "', which is an input of the kernel",
                       Key(call_, name));
        }
        if (core_.checker() != nullptr) {
            core_.checker()->WriteGlobal(now, operand, name, region, *buffer);
        }
        if (recorder_ != nullptr) {
            recorder_->Operand(operand, true, region, buffer);
        }
        return pointer;
    }
    std::byte* pointer = CheckLocal(core_, call_, operand, name, "writes", region);
    if (core_.checker() != nullptr) {
        core_.checker()->WriteLocal(now, operand, name, region);
    }
    if (recorder_ != nullptr) {
        recorder_->Operand(operand, true, region, nullptr);
    }
    return pointer;
}

void Access::Carries(const Operand& to, std::uint64_t to_offset, const Operand& from, std::uint64_t from_offset,
                     std::uint64_t bytes) {
    if (core_.checker() != nullptr) {
        core_.checker()->Carry(Instruction{call_, tick_, site_, false}, to, to_offset, from, from_offset, bytes);
    }
}

void Access::Undefines(const Operand& operand, const Region& region) {
    if (core_.checker() != nullptr && !IsEmpty(region)) {
        core_.checker()->Undefine(Instruction{call_, tick_, site_, false}, operand, region);
    }
}

bool Access::AllDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes) const {
    return core_.checker() == nullptr || core_.checker()->AllDefined(operand, offset, bytes);
}

bool Access::ChecksInitialisation() const { return core_.checker() != nullptr; }

void Access::AccumulationIsOrdered(bool ordered) { ordered_accumulation_ = ordered; }

void Access::WritesRegister(VectorRegister result) {
    if (core_.checker() != nullptr) {
        core_.checker()->WriteRegister(Instruction{call_, tick_, site_, false}, result);
    }
}

void Access::ReadsRegister(VectorRegister result, const char* name) {
    Looks();
    if (core_.checker() != nullptr) {
        core_.checker()->ReadRegister(Instruction{call_, tick_, site_, false}, result, name);
    }
}

void Access::AcquireUnits(const Operand& operand, const Region& region) {
    if (core_.checker() != nullptr && !IsEmpty(region)) {
        core_.checker()->AcquireUnits(call_.pipe, BeginOf(operand, region), EndOf(operand, region));
    }
}

void Access::ReleaseUnits(const Operand& operand, const Region& region) {
    if (core_.checker() != nullptr && !IsEmpty(region)) {
        core_.checker()->ReleaseUnits(call_.pipe, BeginOf(operand, region), EndOf(operand, region));
    }
}

}  // namespace ascend_attention::sim
