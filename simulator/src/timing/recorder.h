// SPDX-License-Identifier: Apache-2.0
// Takes down what a core does, for the timing replay. A core has one in timed mode only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/access.h"
#include "core/global_memory.h"
#include "timing/event_stream.h"
#include "timing/numbering.h"

namespace ascend_attention::sim {

class EventRecorder {
public:
    // An instruction between Begin and End: its operands and its amount of work are told in between.
    void Begin(const Call& call);
    void Operand(const Operand& operand, bool write, const Region& region, const GlobalRegion* buffer);
    // The operand with most repeats counts.
    void Work(std::uint64_t units) { units_ = units > units_ ? units : units_; }
    void SetsMask() { step_.id = 1; }
    void Products(std::uint64_t count) { step_.rows = static_cast<std::uint32_t>(count); }
    // The name of the cost row, where one call means instructions of different cost.
    void CostsAs(const char* name) { key_.name = name; }
    // The name of the cost row goes by how the rows lie in global memory.
    void CostsAs(const CostRows& names, std::uint64_t rows) {
        names_ = &names;
        step_.rows = static_cast<std::uint32_t>(rows);
    }
    // The scalar unit learns something about data in the core's memory, and may do something else because of it.
    void Looks() { stream_.looked_before = static_cast<std::uint32_t>(stream_.steps.size()); }
    // unitFlag of an Mmad (produces) or a Fixpipe, and the units of L0C that it waits for and hands over.
    void UnitFlag(std::uint32_t flag) { step_.target = static_cast<std::uint8_t>(flag); }
    void WaitsForUnit(std::uint64_t unit, bool produces);
    void HandsOverUnit(std::uint64_t unit, bool produces);
    void End();

    // The scalar unit reads global memory: a step, and whether it finds a value that somebody else put there while it
    // read the same place again and again. A replay cannot tell how often it would have looked.
    bool ScalarLoad(const sim::Operand& element, const GlobalRegion& buffer, const void* value, std::uint32_t bytes,
                    Site site);
    void ScalarStore(const sim::Operand& element, const GlobalRegion& buffer, std::uint32_t bytes, Site site);
    // What the scalar unit does without operands.
    void Scalar(const char* name, Site site);

    void Sync(StepKind kind, Pipe pipe, int target, int id, Site site);

    // Bytes that the stream takes now, room to grow included, and its timeline will.
    std::uint64_t bytes() const;
    const EventStream& stream() const { return stream_; }
    EventStream TakeStream() { return std::move(stream_); }

private:
    void NoteWord(const sim::Operand& element, const GlobalRegion& buffer, std::uint32_t bytes, bool write);
    bool IsUnaligned() const;

    EventStream stream_;
    Step step_;
    InstructionKey key_;
    const CostRows* names_ = nullptr;
    bool has_source_ = false;
    bool has_target_ = false;
    std::uint64_t units_ = 0;
    std::uint64_t read_bytes_ = 0;     // of global memory
    std::uint64_t written_bytes_ = 0;  // the same
    std::uint64_t local_bytes_ = 0;    // of the operand that a move on the chip is measured by
    std::uint64_t local_read_bytes_ = 0;
    std::uint64_t polled_address_ = 0;  // of the last scalar load, when nothing else has happened since
    std::uint64_t polled_value_ = 0;
    static constexpr std::size_t kUnits = 256;  // of L0C, 512 bytes each
    static constexpr std::uint32_t kNobody = 0xFFFFFFFFU;
    std::array<std::vector<std::uint32_t>, 2> handed_over_;  // by pipe (M, FIX) and unit: the step that did last
    Numbering<Site, SiteHash> sites_;
    Numbering<InstructionKey, InstructionKey::Hash> instructions_;
};

}  // namespace ascend_attention::sim
