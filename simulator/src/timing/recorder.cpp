// SPDX-License-Identifier: Apache-2.0
#include "timing/recorder.h"

#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "timing/timeline.h"

namespace ascend_attention::sim {

namespace {

// Whether an operand of this type decides how much fits a repeat, and no more the one known before.
bool IsWider(DType dtype, DType known) {
    return dtype != DType::kOther && (known == DType::kOther || BitsOf(dtype) > BitsOf(known));
}

const char* NameFor(const CostRows& names, const Transfer& transfer) {
    const bool dense0 = transfer.count0 == 1 || transfer.stride0 == transfer.row_bytes;
    const bool dense1 = transfer.count1 == 1 || transfer.stride1 == std::uint64_t{transfer.row_bytes} * transfer.count0;
    if (dense0 && dense1) {
        return names.dense;
    }
    // What is published about loads goes by the distance between rows alone.
    const std::uint64_t bits = (transfer.write ? transfer.address : 0) | (transfer.count0 > 1 ? transfer.stride0 : 0) |
                               (transfer.count1 > 1 ? transfer.stride1 : 0);
    if (bits % 512 == 0) {
        return names.aligned512;
    }
    if (bits % 256 == 0) {
        return names.aligned256;
    }
    if (bits % 128 == 0) {
        return names.aligned128;
    }
    return bits % 32 == 0 ? names.aligned32 : names.unaligned;
}

}  // namespace

void EventRecorder::Begin(const Call& call) {
    step_ = Step{};
    step_.pipe = call.pipe;
    step_.site = sites_.Of(call.site, stream_.sites);
    step_.first_transfer = static_cast<std::uint32_t>(stream_.transfers.size());
    key_ = InstructionKey{};
    key_.name = call.name;
    key_.pipe = call.pipe;
    names_ = nullptr;
    has_source_ = false;
    has_target_ = false;
    units_ = 0;
    read_bytes_ = 0;
    written_bytes_ = 0;
    local_bytes_ = 0;
    local_read_bytes_ = 0;
}

void EventRecorder::Operand(const sim::Operand& operand, bool write, const Region& region, const GlobalRegion* buffer) {
    bool& seen = write ? has_target_ : has_source_;
    // The cube's rate goes by what it multiplies, not by what it adds up in.
    const bool decides = key_.pipe == Pipe::kCube ? !write && !seen : IsWider(operand.dtype, key_.dtype);
    if (decides) {
        key_.dtype = operand.dtype;
    }
    // An atomic store reads what it adds to. That is no other path.
    const bool combines = !write && buffer != nullptr && (key_.pipe == Pipe::kMte3 || key_.pipe == Pipe::kFixpipe);
    if (!seen && !combines) {
        (write ? key_.target : key_.source) = operand.space;
        seen = true;
    }
    if (buffer == nullptr) {
        (write ? local_bytes_ : local_read_bytes_) += region.bytes * region.count0 * region.count1;
        if (key_.pipe == Pipe::kScalar && !write) {
            Looks();
        }
        return;
    }
    // Filled where it stays: see Ring::Append.
    Transfer& transfer = stream_.transfers.emplace_back();
    transfer.address = buffer->replay_base + (operand.address - buffer->begin) + region.offset;
    transfer.row_bytes = static_cast<std::uint32_t>(region.bytes);
    transfer.count0 = static_cast<std::uint32_t>(region.count0);
    transfer.count1 = static_cast<std::uint32_t>(region.count1);
    transfer.stride0 = region.stride0;
    transfer.stride1 = region.stride1;
    transfer.write = write;
    transfer.shared = buffer->writable;
    transfer.bypasses_l2 = (operand.bypasses_l2 >> (write ? 1 : 0) & 1) != 0;
    (write ? written_bytes_ : read_bytes_) += transfer.bytes();
    ++step_.transfers;
}

void EventRecorder::End() {
    constexpr std::uint64_t kRepeatBytes = 256;
    key_.has_path = has_source_ && has_target_;
    const bool copies = key_.has_path && std::strcmp(key_.name, "DataCopy") == 0;
    if (units_ == 0 && key_.pipe == Pipe::kVector && !copies) {
        // Vector calls without lanes (sorting, transposition, whole reductions): as many repeats as their data fill.
        // A copy of nothing fills none.
        units_ = (std::max(local_bytes_, local_read_bytes_) + kRepeatBytes - 1) / kRepeatBytes;
    } else if (units_ == 0) {
        // A move: bytes of global memory, else what arrives on the chip.
        units_ = std::max(read_bytes_, written_bytes_);
        units_ = units_ != 0 ? units_ : local_bytes_;
        key_.units_are_bytes = true;
    }
    if (names_ != nullptr) {
        key_.name = step_.transfers == 0 ? names_->dense : NameFor(*names_, stream_.transfers[step_.first_transfer]);
    }
    key_.unaligned = IsUnaligned();
    polled_address_ = 0;
    Step& step = stream_.steps.emplace_back();
    step.pipe = step_.pipe;
    step.target = step_.target;
    step.id = step_.id;
    step.instruction = static_cast<std::uint16_t>(instructions_.Of(key_, stream_.instructions));
    step.transfers = step_.transfers;
    step.first_transfer = step_.first_transfer;
    step.units = static_cast<std::uint32_t>(std::min<std::uint64_t>(units_, 0xFFFFFFFFU));
    step.rows = step_.rows;
    step.site = step_.site;
}

bool EventRecorder::IsUnaligned() const {
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < step_.transfers; ++i) {
        const Transfer& transfer = stream_.transfers[step_.first_transfer + i];
        const bool dense = transfer.count0 == 1 || transfer.stride0 == transfer.row_bytes;
        bits |= transfer.address | (dense ? 0 : transfer.stride0) | (transfer.count1 > 1 ? transfer.stride1 : 0);
    }
    return bits % 512 != 0;
}

void EventRecorder::WaitsForUnit(std::uint64_t unit, bool produces) {
    const std::vector<std::uint32_t>& others = handed_over_[produces ? 1 : 0];
    if (others.empty() || others[unit] == kNobody) {
        return;
    }
    const auto step = static_cast<std::uint32_t>(stream_.steps.size());
    std::vector<UnitWait>& waits = stream_.unit_waits;
    if (waits.empty() || waits.back().step != step) {
        waits.push_back(UnitWait{step, others[unit]});
    }
    waits.back().by = std::max(waits.back().by, others[unit]);
}

void EventRecorder::HandsOverUnit(std::uint64_t unit, bool produces) {
    std::vector<std::uint32_t>& own = handed_over_[produces ? 0 : 1];
    if (own.empty()) {
        own.assign(kUnits, kNobody);
    }
    own[unit] = static_cast<std::uint32_t>(stream_.steps.size());
}

bool EventRecorder::ScalarLoad(const sim::Operand& element, const GlobalRegion& buffer, const void* value,
                               std::uint32_t bytes, Site site) {
    std::uint64_t now = 0;
    std::memcpy(&now, value, bytes);
    const bool polls = polled_address_ == element.address && polled_value_ != now;
    NoteWord(element, buffer, bytes, false);
    Scalar("scalar load", site);
    polled_address_ = element.address;
    polled_value_ = now;
    return polls;
}

void EventRecorder::ScalarStore(const sim::Operand& element, const GlobalRegion& buffer, std::uint32_t bytes,
                                Site site) {
    NoteWord(element, buffer, bytes, true);
    Scalar("scalar store", site);
}

void EventRecorder::NoteWord(const sim::Operand& element, const GlobalRegion& buffer, std::uint32_t bytes, bool write) {
    if (!buffer.writable) {
        return;
    }
    WordAccess word;
    word.address = buffer.replay_base + (element.address - buffer.begin);
    word.step = static_cast<std::uint32_t>(stream_.steps.size());
    word.bytes = static_cast<std::uint16_t>(bytes);
    word.write = write;
    const bool again = !stream_.words.empty() && stream_.words.back().address == word.address &&
                       stream_.words.back().write == write && stream_.words.back().bytes == word.bytes;
    if (again && polled_address_ == element.address) {
        stream_.words.pop_back();  // a loop: the last time counts
    }
    stream_.words.push_back(word);
}

std::uint64_t EventRecorder::bytes() const {
    return stream_.steps.capacity() * sizeof(Step) + stream_.steps.size() * sizeof(TimedStep) +
           stream_.transfers.capacity() * sizeof(Transfer) + stream_.words.capacity() * sizeof(WordAccess) +
           stream_.unit_waits.capacity() * sizeof(UnitWait);
}

void EventRecorder::Scalar(const char* name, Site site) {
    const std::uint64_t address = polled_address_;  // cleaning the data cache is part of a loop that polls
    Begin(Call{name, Pipe::kScalar, site});
    Work(1);
    End();
    polled_address_ = address;
}

void EventRecorder::Sync(StepKind kind, Pipe pipe, int target, int id, Site site) {
    Step& step = stream_.steps.emplace_back();
    step.kind = kind;
    step.pipe = pipe;
    step.target = static_cast<std::uint8_t>(target);
    step.id = static_cast<std::uint8_t>(id);
    step.site = sites_.Of(site, stream_.sites);
}

}  // namespace ascend_attention::sim
