// SPDX-License-Identifier: Apache-2.0
#include "core/inline_calls.h"

#include <algorithm>
#include <unordered_map>

namespace ascend_attention::sim {

namespace {

// The numbers of the DWARF standard.
enum : std::uint64_t { kTagInlinedSubroutine = 0x1d };
enum : std::uint64_t {
    kStatementList = 0x10,
    kLowPc = 0x11,
    kHighPc = 0x12,
    kRanges = 0x55,
    kCallFile = 0x58,
    kCallLine = 0x59,
    kAddressBase = 0x73,
    kRangeListsBase = 0x74,
};
enum : std::uint8_t { kUnitCompile = 1, kUnitPartial = 3 };
enum : std::uint8_t {
    kRangeBaseIndexed = 1,
    kRangeStartEndIndexed = 2,
    kRangeStartLengthIndexed = 3,
    kRangeOffsets = 4,
    kRangeBase = 5,
    kRangeStartEnd = 6,
    kRangeStartLength = 7,
};

struct Attribute {
    std::uint64_t name = 0;
    std::uint64_t form = 0;
    std::uint64_t constant = 0;  // of the form that keeps its value here
};

struct Abbreviation {
    std::uint64_t tag = 0;
    std::vector<Attribute> attributes;
};

// What of one entry is of interest.
struct Value {
    std::uint64_t form = 0;  // 0: the entry does not have it
    std::uint64_t number = 0;
};

struct Entry {
    Value statement_list, low, high, ranges, file, line, address_base, range_lists_base;

    Value* Find(std::uint64_t attribute) {
        switch (attribute) {
            case kStatementList:
                return &statement_list;
            case kLowPc:
                return &low;
            case kHighPc:
                return &high;
            case kRanges:
                return &ranges;
            case kCallFile:
                return &file;
            case kCallLine:
                return &line;
            case kAddressBase:
                return &address_base;
            case kRangeListsBase:
                return &range_lists_base;
            default:
                return nullptr;
        }
    }
};

// One compilation unit. Its tree is read as a list: every inlined body around an address holds the ones after it.
class Unit {
public:
    Unit(const DebugSections& sections, const DebugUnit& unit)
        : sections_(sections), reader_(unit.contents), offset_bytes_(unit.offset_bytes) {}

    void Find(std::uint64_t address, std::vector<InlineCall>* found) {
        if (!ReadHeader()) {
            return;
        }
        bool first = true;
        while (!reader_.AtEnd()) {
            const std::uint64_t code = reader_.Unsigned();
            if (code == 0) {
                continue;
            }
            const auto abbreviation = abbreviations_.find(code);
            if (abbreviation == abbreviations_.end()) {
                return;
            }
            const Entry entry = Read(abbreviation->second);
            if (first) {
                root_ = entry;
                base_ = root_.low.form == 0 ? 0 : Address(root_.low);
                first = false;
            } else if (abbreviation->second.tag == kTagInlinedSubroutine && Holds(entry, address)) {
                found->push_back({root_.statement_list.number, entry.file.number, static_cast<int>(entry.line.number)});
            }
        }
    }

private:
    bool ReadHeader() {
        version_ = reader_.Fixed<std::uint16_t>();
        std::uint64_t abbreviations = 0;
        std::uint8_t kind = kUnitCompile;
        if (version_ >= 5) {
            kind = reader_.Fixed<std::uint8_t>();
            reader_.Skip(1);  // bytes of an address
            abbreviations = reader_.Word(offset_bytes_);
        } else {
            abbreviations = reader_.Word(offset_bytes_);
            reader_.Skip(1);
        }
        if (version_ < 2 || version_ > 5 || (kind != kUnitCompile && kind != kUnitPartial)) {
            return false;
        }
        SectionReader table = sections_.abbreviations.From(abbreviations);
        for (std::uint64_t code = table.Unsigned(); code != 0 && !table.failed(); code = table.Unsigned()) {
            Abbreviation& abbreviation = abbreviations_[code];
            abbreviation.tag = table.Unsigned();
            table.Skip(1);  // whether it has children
            while (!table.failed()) {
                Attribute attribute{table.Unsigned(), table.Unsigned()};
                if (attribute.form == kFormImplicitConst) {
                    attribute.constant = static_cast<std::uint64_t>(table.Signed());
                }
                if (attribute.form == 0) {
                    break;
                }
                abbreviation.attributes.push_back(attribute);
            }
        }
        return !reader_.failed() && !table.failed();
    }

    Entry Read(const Abbreviation& abbreviation) {
        Entry entry;
        for (const Attribute& attribute : abbreviation.attributes) {
            const std::uint64_t form = attribute.form == kFormIndirect ? reader_.Unsigned() : attribute.form;
            const std::uint64_t number = ReadForm(reader_, form, offset_bytes_);
            if (Value* value = entry.Find(attribute.name)) {
                *value = {form, form == kFormImplicitConst ? attribute.constant : number};
            }
        }
        return entry;
    }

    static bool IsAddress(const Value& value) {
        return value.form == kFormAddress || value.form == kFormAddrx ||
               (value.form >= kFormAddrx1 && value.form <= kFormAddrx4);
    }

    std::uint64_t Address(const Value& value) const {
        return value.form == kFormAddress ? value.number : IndexedAddress(value.number);
    }

    std::uint64_t IndexedAddress(std::uint64_t index) const {
        return sections_.addresses.From(root_.address_base.number + index * 8).Word(8);
    }

    bool Holds(const Entry& entry, std::uint64_t address) const {
        if (entry.ranges.form != 0) {
            return version_ >= 5 ? RangeListHolds(entry.ranges, address) : RangesHold(entry.ranges.number, address);
        }
        if (entry.low.form == 0 || entry.high.form == 0) {
            return false;
        }
        const std::uint64_t low = Address(entry.low);
        const std::uint64_t high = IsAddress(entry.high) ? Address(entry.high) : low + entry.high.number;
        return address >= low && address < high;
    }

    bool RangesHold(std::uint64_t offset, std::uint64_t address) const {
        SectionReader reader = sections_.ranges.From(offset);
        std::uint64_t base = base_;
        while (!reader.AtEnd()) {
            const std::uint64_t begin = reader.Word(8);
            const std::uint64_t end = reader.Word(8);
            if (begin == 0 && end == 0) {
                return false;
            }
            if (begin == ~std::uint64_t{0}) {
                base = end;
            } else if (address >= base + begin && address < base + end) {
                return true;
            }
        }
        return false;
    }

    bool RangeListHolds(const Value& ranges, std::uint64_t address) const {
        std::uint64_t offset = ranges.number;
        if (ranges.form == kFormRnglistx) {
            const std::uint64_t table = root_.range_lists_base.number;
            const std::uint64_t entry = table + offset * static_cast<std::uint64_t>(offset_bytes_);
            offset = table + sections_.range_lists.From(entry).Word(offset_bytes_);
        }
        SectionReader reader = sections_.range_lists.From(offset);
        std::uint64_t base = base_;
        while (!reader.AtEnd()) {
            std::uint64_t begin = 0;
            std::uint64_t end = 0;
            switch (reader.Fixed<std::uint8_t>()) {
                case kRangeBaseIndexed:
                    base = IndexedAddress(reader.Unsigned());
                    break;
                case kRangeStartEndIndexed:
                    begin = IndexedAddress(reader.Unsigned());
                    end = IndexedAddress(reader.Unsigned());
                    break;
                case kRangeStartLengthIndexed:
                    begin = IndexedAddress(reader.Unsigned());
                    end = begin + reader.Unsigned();
                    break;
                case kRangeOffsets:
                    begin = base + reader.Unsigned();
                    end = base + reader.Unsigned();
                    break;
                case kRangeBase:
                    base = reader.Word(8);
                    break;
                case kRangeStartEnd:
                    begin = reader.Word(8);
                    end = reader.Word(8);
                    break;
                case kRangeStartLength:
                    begin = reader.Word(8);
                    end = begin + reader.Unsigned();
                    break;
                default:  // 0, the end, or nothing that can be read on
                    return false;
            }
            if (address >= begin && address < end) {
                return true;
            }
        }
        return false;
    }

    const DebugSections& sections_;
    SectionReader reader_;
    int offset_bytes_;
    std::uint16_t version_ = 0;
    std::unordered_map<std::uint64_t, Abbreviation> abbreviations_;
    Entry root_;
    std::uint64_t base_ = 0;
};

}  // namespace

std::vector<InlineCall> FindInlineCalls(const DebugSections& sections, std::uint64_t address) {
    std::vector<InlineCall> found;
    SectionReader all = sections.info.From(0);
    while (!all.AtEnd() && found.empty()) {
        const DebugUnit unit = NextUnit(all);
        if (!all.failed()) {
            Unit(sections, unit).Find(address, &found);
        }
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace ascend_attention::sim
