// SPDX-License-Identifier: Apache-2.0
#include "core/core.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include "core/checker.h"
#include "core/fiber.h"
#include "core/machine.h"
#include "core/sanitizers.h"
#include "core/sync.h"
#include "core/sync_trace.h"
#include "timing/recorder.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kReserved = 256;
// Under AddressSanitizer memory that nobody may touch lies between two memories.
constexpr std::uint64_t kGap = kAddressSanitizer ? 4096 : 0;
constexpr std::size_t kPrintLimit = 1024 * kKiB;

struct SpaceSize {
    Space space;
    std::uint64_t bytes;
};
constexpr SpaceSize kCubeSpaces[] = {{Space::kL1, 512 * kKiB},  {Space::kL0A, 64 * kKiB}, {Space::kL0B, 64 * kKiB},
                                     {Space::kL0C, 128 * kKiB}, {Space::kBias, 1 * kKiB}, {Space::kFixpipe, 7 * kKiB}};
constexpr SpaceSize kVectorSpaces[] = {{Space::kUb, 192 * kKiB}};

template <typename Visit>
void ForEachSpace(CoreType type, Visit visit) {
    if (type == CoreType::kCube) {
        for (const SpaceSize& entry : kCubeSpaces) {
            visit(entry);
        }
    } else {
        for (const SpaceSize& entry : kVectorSpaces) {
            visit(entry);
        }
    }
}

std::uint64_t ArenaBytes(CoreType type) {
    std::uint64_t total = 0;
    ForEachSpace(type, [&](const SpaceSize& entry) { total += entry.bytes + kGap; });
    return total;
}

class ArenaPool {
public:
    std::byte* Take(CoreType type) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            std::vector<std::byte*>& list = free_[static_cast<int>(type)];
            if (!list.empty()) {
                std::byte* memory = list.back();
                list.pop_back();
                return memory;
            }
        }
        void* memory = std::aligned_alloc(4096, ArenaBytes(type));
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        return static_cast<std::byte*>(memory);
    }

    void Give(CoreType type, std::byte* memory) {
        const std::lock_guard<std::mutex> lock(mutex_);
        free_[static_cast<int>(type)].push_back(memory);
    }

private:
    std::mutex mutex_;
    std::vector<std::byte*> free_[2];
};

ArenaPool& Pool() {
    static ArenaPool* pool = new ArenaPool;  // never destroyed: launches may outlive static destruction order
    return *pool;
}

std::string NameOfCore(const CoreIdentity& identity, KernelKind kind) {
    std::string name = "block " + std::to_string(identity.block);
    if (identity.type == CoreType::kCube) {
        return name + " AIC";
    }
    return kind == KernelKind::kMix ? name + " AIV" + std::to_string(identity.sub) : name + " AIV";
}

thread_local Core* current_core __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

std::uint64_t MemoryBytes(Space space, CoreType type, KernelKind kind) {
    std::uint64_t bytes = 0;
    ForEachSpace(type, [&](const SpaceSize& entry) {
        if (entry.space == space) {
            bytes = entry.bytes;
        }
    });
    if (bytes != 0 && (space == Space::kUb || (space == Space::kL1 && IsMix(kind)))) {
        bytes -= kReserved;
    }
    return bytes;
}

Arena::Arena(CoreType type, KernelKind kind) : type_(type), memory_(Pool().Take(type)) {
    // 0xFF.. is a NaN in every float type: what a kernel forgets to write shows in the result.
    std::memset(memory_, 0xFF, ArenaBytes(type));
    std::byte* next = memory_;
    ForEachSpace(type, [&](const SpaceSize& entry) {
        bases_[static_cast<int>(entry.space)] = next;
        const std::uint64_t usable = MemoryBytes(entry.space, type, kind);
        ForbidMemory(next + usable, entry.bytes + kGap - usable);
        next += entry.bytes + kGap;
    });
}

Arena::~Arena() {
    AllowMemory(memory_, ArenaBytes(type_));
    Pool().Give(type_, memory_);
}

Core::Core(Machine& machine, const CoreIdentity& identity, int index)
    : machine_(machine),
      identity_(identity),
      name_(NameOfCore(identity, machine.kind())),
      index_(index),
      arena_(identity.type, machine.kind()),
      instruction_limit_(machine.instruction_limit()),
      sync_(std::make_unique<CoreSync>()) {
    for (int space = 0; space < kSpaceCount; ++space) {
        sizes_[space] = MemoryBytes(static_cast<Space>(space), identity.type, machine.kind());
    }
    if (machine.mode() == Mode::kChecked) {
        checker_ = std::make_unique<CoreChecker>(*this, *machine.checker());
    }
    if (machine.mode() == Mode::kTimed) {
        recorder_ = std::make_unique<EventRecorder>();
    }
    if (machine.traces_sync()) {
        sync_trace_ = std::make_unique<SyncTrace>(identity.type, machine.ignored());
    }
}

Core::~Core() = default;

bool Core::Unwinding() const { return ending || std::uncaught_exceptions() != 0; }

void Core::CountInstruction(const Call& call) {
    ++instructions_[static_cast<int>(call.pipe)];
    ++instruction_total_;
    last_call_ = call;
    const bool has_stack = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) >= stack_limit_;
    if (instruction_total_ <= instruction_limit_ && !machine_.stopping() && (instruction_total_ & 0xFFFFU) != 0 &&
        has_stack) {
        return;
    }
    if (Unwinding()) {
        return;
    }
    if (!has_stack) {
        StackOverflow(call);
    }
    if (instruction_total_ > instruction_limit_) {
        InstructionLimit(call);
    }
    if (machine_.stopping()) {
        End();
    }
    if (recorder_ != nullptr) {
        BoundRecord(call);
    }
    YieldFiber();  // a core that polls memory must let the others run
    if (machine_.stopping()) {
        End();
    }
}

void Core::InstructionLimit(const Call& call) {
    Fail("instruction limit",
         name_ + " reached the limit of " + std::to_string(instruction_limit_) + " instructions at " + Describe(call) +
             ": an endless loop, or raise the limit of the launch",
         "limit");
}

void Core::BoundRecord(const Call& call) {
    const std::uint64_t bytes = recorder_->bytes();
    const std::uint64_t grown = bytes > record_bytes_ ? bytes - record_bytes_ : 0;
    record_bytes_ += grown;
    if (!machine_.TakeRecordBytes(grown)) {
        Fail("memory limit",
             name_ + " at " + Describe(call) + ": timed mode keeps a record of every step, and those of this launch " +
                 "would take more than the " + std::to_string(machine_.record_limit() >> 20) +
                 " MiB it may use: a smaller problem, or release what earlier launches have recorded",
             "memory limit");
    }
}

void Core::StackOverflow(const Call& call) {
    Fail("stack overflow",
         name_ + " has used up its stack at " + Describe(call) + ": an endless recursion, or arrays that are too large",
         "stack");
}

void Core::Fail(const std::string& kind, const std::string& text, const std::string& key) {
    Report(Severity::kError, kind, text, key);
    machine_.Stop();
    End();
}

void Core::End() {
    if (ending) {
        AbandonFiber();  // device code has caught what ended it and goes on calling: perhaps for ever
    }
    ending = true;
    throw CoreEnd{};
}

void Core::Report(Severity severity, const std::string& kind, const std::string& text, const std::string& key) {
    machine_.log().Add(Finding{severity, kind, text}, key);
}

void Core::AppendPrinted(const std::string& text) {
    if (machine_.echo()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);  // the last line before a crash is the interesting one
    }
    if (printed_.size() + text.size() > kPrintLimit) {
        printed_dropped_ += text.size();
        return;
    }
    printed_ += text;
}

std::string Core::Printed() const {
    return printed_dropped_ == 0
               ? printed_
               : printed_ + "(" + name_ + ": " + std::to_string(printed_dropped_) + " bytes more were not kept)\n";
}

const GlobalRegion* Core::FindGlobal(std::uint64_t address) {
    if (last_region_ == nullptr || address < last_region_->begin || address >= last_region_->end) {
        const GlobalRegion* found = machine_.global().Find(address);
        if (found == nullptr) {
            return nullptr;
        }
        last_region_ = found;
    }
    return last_region_;
}

Core& CurrentCore() {
    if (__builtin_expect(current_core == nullptr, 0)) {
        throw std::logic_error(
            "an Ascend C call outside a core: in the constructor of a global object, or on a thread that device code "
            "has started");
    }
    return *current_core;
}

bool HasCurrentCore() { return current_core != nullptr; }

void SetCurrentCore(Core* core) { current_core = core; }

}  // namespace ascend_attention::sim
