// SPDX-License-Identifier: Apache-2.0
// Cycles of instructions and figures of the machine, as rows of data (simulator/timing/*.csv) with their sources.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "timing/cost_source.h"
#include "timing/event_stream.h"

namespace ascend_attention::sim {

// What an instruction's work is counted in: decided by its pipe (copies within UB are on V and count bytes).
enum class WorkUnit : std::uint8_t { kInstruction, kRepeat, kFractalProduct, kByte };

// How long an instruction keeps its pipe: max(minimum, fixed + max(per_unit * units, per_row * rows)). Its result is
// there `tail` later; the next one on the pipe starts before that.
struct Cost {
    WorkUnit unit = WorkUnit::kByte;
    double per_unit = 0;
    double fixed = 0;
    double minimum = 0;
    double tail = 0;
    double per_row = 0;  // moves of rows that go by the row

    double Occupancy(double units, double rows) const {
        return std::max(minimum, fixed + std::max(per_unit * units, per_row * rows));
    }
};

// Figures nobody publishes exactly are ranges.
enum class Assumption : std::uint8_t { kLow, kMiddle, kHigh };

class CostTable {
public:
    // Parses the text of the two files. Throws std::invalid_argument naming file, line and column.
    CostTable(const std::string& instructions, const std::string& machine, CostSource source);
    // The project's own data.
    static const CostTable& Default(CostSource source);

    // The row for an instruction. Names, first of all that of the call with its path ("DataCopy UB>UB"), then the call,
    // the path, with " unaligned" first where rows of global memory do not start on 512 bytes, and last its pipe's
    // default. What reads nothing, or writes nothing, has no path. For each name: the dtype, its width, any. Throws
    // std::invalid_argument if the row counts what the pipe does not.
    const Cost& Find(const InstructionKey& key) const;
    // A figure of the machine, in cycles or bytes per cycle as its row says. Throws std::invalid_argument.
    double Figure(const std::string& name, Assumption assumption) const;

private:
    void ReadInstructions(const std::string& text, CostSource source);
    void ReadMachine(const std::string& text, CostSource source);

    std::map<std::string, Cost> costs_;  // "Add|float32", "Add|b32", "Add|*", "pipe V|*"
    std::map<std::string, std::array<double, 3>> figures_;
};

// Finds the row of each instruction once. The cores of a launch use the same few.
class CostLookup {
public:
    explicit CostLookup(const CostTable& table) : table_(table) {}
    const Cost& Find(const InstructionKey& key) {
        const auto [found, fresh] = rows_.emplace(key, nullptr);
        if (fresh) {
            found->second = &table_.Find(key);
        }
        return *found->second;
    }

private:
    const CostTable& table_;
    std::unordered_map<InstructionKey, const Cost*, InstructionKey::Hash> rows_;
};

}  // namespace ascend_attention::sim
