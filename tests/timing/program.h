// SPDX-License-Identifier: Apache-2.0
// Streams of events made by hand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "timing/event_stream.h"

namespace ascend_attention::sim::checks {

class Program {
public:
    Program() { stream.sites.push_back(Site{"program", 1}); }

    Program& Do(Pipe pipe, std::uint32_t units, const char* name = "", DType dtype = DType::kFloat32) {
        Step step;
        step.pipe = pipe;
        step.units = units;
        const InstructionKey key{name, pipe, dtype, Space::kUb, Space::kUb, true};
        const auto known = std::find(stream.instructions.begin(), stream.instructions.end(), key);
        step.instruction = static_cast<std::uint16_t>(known - stream.instructions.begin());
        if (known == stream.instructions.end()) {
            stream.instructions.push_back(key);
        }
        stream.steps.push_back(step);
        return *this;
    }
    Program& Rows(std::uint32_t rows) {
        stream.steps.back().rows = rows;
        return *this;
    }
    Program& Move(Pipe pipe, std::uint64_t address, std::uint32_t bytes, bool write) {
        Do(pipe, 1);
        stream.steps.back().first_transfer = static_cast<std::uint32_t>(stream.transfers.size());
        stream.steps.back().transfers = 1;
        Transfer transfer;
        transfer.address = address;
        transfer.row_bytes = bytes;
        transfer.write = write;
        stream.transfers.push_back(transfer);
        return *this;
    }
    Program& Sync(StepKind kind, Pipe pipe, int target = 0, int id = 0) {
        Step step;
        step.kind = kind;
        step.pipe = pipe;
        step.target = static_cast<std::uint8_t>(target);
        step.id = static_cast<std::uint8_t>(id);
        stream.steps.push_back(step);
        return *this;
    }
    Program& Flag(Pipe source, Pipe target) {
        Sync(StepKind::kSet, source, static_cast<int>(target));
        return Sync(StepKind::kWait, source, static_cast<int>(target));
    }

    // unitFlag of the last instruction, and the one of the other pipe whose units it takes.
    Program& Units(int flag, int by = -1) {
        stream.steps.back().target = static_cast<std::uint8_t>(flag);
        if (by >= 0) {
            stream.unit_waits.push_back(
                UnitWait{static_cast<std::uint32_t>(stream.steps.size() - 1), static_cast<std::uint32_t>(by)});
        }
        return *this;
    }
    Program& SetsMask() {
        stream.steps.back().id = 1;
        return *this;
    }
    int Last() const { return static_cast<int>(stream.steps.size()) - 1; }

    EventStream stream;
};

}  // namespace ascend_attention::sim::checks
