// SPDX-License-Identifier: Apache-2.0
#include "timing/cost_table.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/dtype.h"
#include "core/findings.h"
#include "timing/csv.h"
#include "timing/data.h"

namespace ascend_attention::sim {

namespace {

// The dtype column: a dtype, a width in bits (b16), or * for any.
std::string WidthOf(DType dtype) { return dtype == DType::kOther ? "*" : "b" + std::to_string(BitsOf(dtype)); }

bool IsDType(const std::string& text) {
    for (int dtype = 0; dtype <= static_cast<int>(DType::kOther); ++dtype) {
        if (text == NameOf(static_cast<DType>(dtype)) || text == WidthOf(static_cast<DType>(dtype))) {
            return true;
        }
    }
    return false;
}

// Throws std::out_of_range.
WorkUnit UnitNamed(const std::string& text) {
    static const std::map<std::string, WorkUnit> units = {{"instruction", WorkUnit::kInstruction},
                                                          {"repeat", WorkUnit::kRepeat},
                                                          {"fractal product", WorkUnit::kFractalProduct},
                                                          {"byte", WorkUnit::kByte}};
    return units.at(text);
}

WorkUnit UnitOf(Pipe pipe, bool bytes) {
    switch (pipe) {
        case Pipe::kScalar:
            return WorkUnit::kInstruction;
        case Pipe::kVector:
            return bytes ? WorkUnit::kByte : WorkUnit::kRepeat;
        case Pipe::kCube:
            return WorkUnit::kFractalProduct;
        default:
            return WorkUnit::kByte;
    }
}

// Of a row that names a pipe or a path. Calls on V and M are known by their pipe only when they are looked up.
bool UnitFits(const std::string& name, WorkUnit unit) {
    if (name.find('>') != std::string::npos) {
        return unit == WorkUnit::kByte;
    }
    for (int pipe = 0; pipe < kPipeCount; ++pipe) {
        if (name == std::string("pipe ") + NameOf(static_cast<Pipe>(pipe))) {
            return unit == UnitOf(static_cast<Pipe>(pipe), false);
        }
    }
    return true;
}

std::string Join(const std::string& name, const std::string& dtype) { return name + "|" + dtype; }

}  // namespace

CostTable::CostTable(const std::string& instructions, const std::string& machine, CostSource source) {
    ReadInstructions(instructions, source);
    ReadMachine(machine, source);
}

const CostTable& CostTable::Default(CostSource source) {
    static const auto* measured = new CostTable(kInstructionCosts, kMachineFigures, CostSource::kMeasured);
    static const auto* documented = new CostTable(kInstructionCosts, kMachineFigures, CostSource::kDocumented);
    return source == CostSource::kMeasured ? *measured : *documented;
}

void CostTable::ReadInstructions(const std::string& text, CostSource source) {
    const Csv csv("instructions.csv", text);
    for (const Csv::Row& row : csv.rows()) {
        Cost cost;
        cost.fixed = csv.Number(row, "fixed");
        cost.minimum = csv.Number(row, "minimum");
        cost.tail = csv.Number(row, "tail");
        cost.per_row = csv.Number(row, "per_row");
        // An empty documented figure: the two agree.
        const double measured = csv.Number(row, "per_unit");
        const double documented = csv.Number(row, "per_unit_documented");
        const bool differs = !csv.Text(row, "per_unit_documented").empty();
        cost.per_unit = differs && source == CostSource::kDocumented ? documented : measured;
        const std::string& unit = csv.Text(row, "unit");
        try {
            cost.unit = UnitNamed(unit);
        } catch (const std::out_of_range&) {
            csv.Refuse(row, "unit is '" + unit + "', allowed: instruction, repeat, fractal product, byte");
        }
        for (const std::string& name : SplitList(csv.Text(row, "instruction"))) {
            if (!UnitFits(name, cost.unit)) {
                csv.Refuse(row, "unit is '" + unit + "', which is not what " + name + " counts");
            }
            for (const std::string& dtype : SplitList(csv.Text(row, "dtype"))) {
                if (!IsDType(dtype)) {
                    csv.Refuse(row, "dtype is '" + dtype + "', allowed: a dtype, b4, b8, b16, b32, b64, *");
                }
                if (!costs_.emplace(Join(name, dtype), cost).second) {
                    csv.Refuse(row, "a second row for " + name + ", " + dtype);
                }
            }
        }
    }
}

void CostTable::ReadMachine(const std::string& text, CostSource source) {
    const Csv csv("machine.csv", text);
    for (const Csv::Row& row : csv.rows()) {
        std::array<double, 3> range = {csv.Required(row, "low"), csv.Required(row, "middle"),
                                       csv.Required(row, "high")};
        // A figure that the vendor gives is no range. Empty: the vendor gives none, or the middle one.
        const double documented = csv.Number(row, "documented");
        if (source == CostSource::kDocumented && !csv.Text(row, "documented").empty()) {
            range.fill(documented);
        }
        if (!figures_.emplace(csv.Text(row, "figure"), range).second) {
            csv.Refuse(row, "a second row for " + csv.Text(row, "figure"));
        }
    }
}

const Cost& CostTable::Find(const InstructionKey& key) const {
    const std::string path = std::string(NameOf(key.source)) + ">" + NameOf(key.target);
    std::vector<std::string> names = {key.name};
    if (key.has_path) {
        names = {std::string(key.name) + " " + path, key.name};
        if (key.unaligned) {
            names.push_back(path + " unaligned");
        }
        names.push_back(path);
    }
    names.push_back(std::string("pipe ") + NameOf(key.pipe));
    for (const std::string& name : names) {
        for (const std::string& dtype : {std::string(NameOf(key.dtype)), WidthOf(key.dtype), std::string("*")}) {
            const auto found = costs_.find(Join(name, dtype));
            if (found == costs_.end()) {
                continue;
            }
            if (found->second.unit != UnitOf(key.pipe, key.units_are_bytes)) {
                throw std::invalid_argument("instructions.csv: the row of " + name + " has a unit that pipe " +
                                            NameOf(key.pipe) + " does not count");
            }
            return found->second;
        }
    }
    throw std::invalid_argument("instructions.csv has no row for " + std::string(key.name) + " and none for pipe " +
                                NameOf(key.pipe));
}

double CostTable::Figure(const std::string& name, Assumption assumption) const {
    const auto found = figures_.find(name);
    if (found == figures_.end()) {
        throw std::invalid_argument("machine.csv has no figure '" + name + "'");
    }
    return found->second[static_cast<std::size_t>(assumption)];
}

}  // namespace ascend_attention::sim
