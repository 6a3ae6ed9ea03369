// SPDX-License-Identifier: Apache-2.0
// Takes down what a core does, for the timing replay. A core has one in timed mode only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/access.h"
#include "core/global_memory.h"
#include "timing/event_stream.h"

namespace ascend_attention::sim {

class EventRecorder {
public:
    // An instruction between Begin and End: its operands and its amount of work are told in between.
    void Begin(const Call& call);
    void Operand(const Operand& operand, bool write, const Region& region, const GlobalRegion* buffer);
    // The operand with most repeats counts.
    void Work(std::uint64_t units) { units_ = units > units_ ? units : units_; }
    void Products(std::uint64_t count) { step_.rows = static_cast<std::uint32_t>(count); }
    // The name of the cost row goes by how the rows lie in global memory.
    void CostsAs(const CostRows& names, std::uint64_t rows) {
        names_ = &names;
        step_.rows = static_cast<std::uint32_t>(rows);
    }
    void End();

    // The scalar unit reads global memory: a step, and whether it finds a value that somebody else put there while it
    // read the same place again and again. A replay cannot tell how often it would have looked.
    bool Polls(std::uint64_t address, const void* value, std::uint32_t bytes, Site site);
    // What the scalar unit does without operands.
    void Scalar(const char* name, Site site);

    void Sync(StepKind kind, Pipe pipe, int target, int id, Site site);

    EventStream TakeStream() { return std::move(stream_); }

private:
    std::uint32_t SiteIndex(Site site);
    std::uint16_t InstructionIndex();

    EventStream stream_;
    Step step_;
    InstructionKey key_;
    const CostRows* names_ = nullptr;
    bool has_source_ = false;
    bool has_target_ = false;
    std::uint64_t units_ = 0;
    std::uint64_t local_bytes_ = 0;     // of the operand that a move on the chip is measured by
    std::uint64_t polled_address_ = 0;  // of the last scalar load, when nothing else has happened since
    std::uint64_t polled_value_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> sites_;
    std::unordered_map<std::uint64_t, std::vector<std::uint16_t>> instructions_;
};

}  // namespace ascend_attention::sim
