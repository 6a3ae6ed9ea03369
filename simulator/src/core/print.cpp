// SPDX-License-Identifier: Apache-2.0
// Text that device code prints: kept per core, so that it comes out in program order whatever the cores' turns were.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/core.h"
#include "core/machine.h"
#include "machine/core_calls.h"
#include "machine/print_calls.h"
#include "numerics/half.h"

namespace ascend_attention::sim {

namespace {

// Documented: what one call prints beyond it does not appear.
constexpr std::size_t kCallLimit = 30 * 1024;

std::string Head(const Core& core) {
    const bool cube = core.type() == CoreType::kCube;
    const std::uint64_t each = cube ? 1 : VectorsPerBlock(core.machine().kind());
    const CoreIdentity& identity = core.identity();
    return std::string(cube ? "[AIC" : "[AIV") + " Block " + std::to_string(identity.block * each + identity.sub) +
           "/" + std::to_string(core.machine().blocks() * each) + "] ";
}

// A file with host code too prints through the same macros, outside of a launch: without a core.
Core* PrintingCore() { return HasCurrentCore() ? &CurrentCore() : nullptr; }

// A call of the scalar unit, so that endless printing meets the instruction limit and lets the other cores run.
void Count(Core& core, const char* name, Site site) { core.CountInstruction(Call{name, Pipe::kScalar, site}); }

void Warn(Core& core, const char* name, Site site, const std::string& problem) {
    core.Report(Severity::kWarning, "parameter", Describe(name, site) + " on " + core.name() + ": " + problem,
                SiteKey(site) + "|print");
}

// One conversion: '%', flags, width, precision, length, letter.
struct Conversion {
    std::string flags;  // with width and precision
    char letter = 0;
};

// Appends `value` as the C library would show it after `flags`; text can be long, so the size is asked for first.
template <typename T>
void AppendFormatted(std::string& text, const std::string& format, T value) {
    const int size = std::snprintf(nullptr, 0, format.c_str(), value);
    if (size > 0) {
        const std::size_t before = text.size();
        text.resize(before + static_cast<std::size_t>(size) + 1);
        std::snprintf(&text[before], static_cast<std::size_t>(size) + 1, format.c_str(), value);
        text.pop_back();
    }
}

double RealOf(const PrintValue& value) {
    switch (value.kind) {
        case PrintValue::Kind::kFloat:
            return value.real;
        case PrintValue::Kind::kUnsigned:
            return static_cast<double>(static_cast<std::uint64_t>(value.integer));
        default:
            return static_cast<double>(value.integer);
    }
}

std::int64_t IntegerOf(const PrintValue& value) {
    switch (value.kind) {
        case PrintValue::Kind::kFloat:
            // Out of range or NaN has no value to show.
            return value.real >= -9.2e18 && value.real <= 9.2e18 ? static_cast<std::int64_t>(value.real) : INT64_MIN;
        case PrintValue::Kind::kText:
        case PrintValue::Kind::kPointer:
            return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(value.pointer));
        default:
            return value.integer;
    }
}

bool Append(std::string& text, const Conversion& conversion, const PrintValue& value) {
    const std::string start = "%" + conversion.flags;
    switch (conversion.letter) {
        case 'd':
        case 'i':
            AppendFormatted(text, start + PRId64, IntegerOf(value));
            return true;
        case 'u':
            AppendFormatted(text, start + PRIu64, static_cast<std::uint64_t>(IntegerOf(value)));
            return true;
        case 'x':  // 64 bits wide, as on the device
        case 'X':
        case 'o':
            AppendFormatted(text, start + "l" + conversion.letter, static_cast<unsigned long>(IntegerOf(value)));
            return true;
        case 'c':
            AppendFormatted(text, start + "c", static_cast<int>(IntegerOf(value)));
            return true;
        case 'f':
        case 'F':
        case 'e':
        case 'E':
        case 'g':
        case 'G':
            AppendFormatted(text, start + conversion.letter, RealOf(value));
            return true;
        case 'p':
            AppendFormatted(text, start + "p",
                            reinterpret_cast<const void*>(static_cast<std::uintptr_t>(IntegerOf(value))));
            return true;
        case 's':
            if (value.kind == PrintValue::Kind::kText) {
                const auto* string = static_cast<const char*>(value.pointer);
                AppendFormatted(text, start + "s", string == nullptr ? "(null)" : string);
                return true;
            }
            return false;
        default:
            return false;
    }
}

// Reads a conversion that starts after '%'. A width or precision of '*' takes an argument.
const char* Parse(const char* at, Conversion* conversion, const PrintValue* values, std::uint32_t count,
                  std::uint32_t* used) {
    constexpr long kWidest = 1024;  // wider is a mistake, not a layout
    while (*at != '\0' && std::strchr("-+ #0123456789.*", *at) != nullptr) {
        if (*at == '*') {
            const long given = *used < count ? static_cast<long>(IntegerOf(values[(*used)++])) : 0;
            conversion->flags += std::to_string(given > kWidest || given < -kWidest ? kWidest : given);
            ++at;
        } else if (*at >= '1' && *at <= '9') {
            char* end = nullptr;
            const long given = std::strtol(at, &end, 10);
            conversion->flags += std::to_string(given > kWidest ? kWidest : given);
            at = end;
        } else {
            conversion->flags += *at++;
        }
    }
    while (*at != '\0' && std::strchr("hlqjzt", *at) != nullptr) {
        ++at;  // the argument's own type says how wide it is
    }
    conversion->letter = *at;
    return *at == '\0' ? at : at + 1;
}

std::string Format(Core* core, const char* name, const char* format, const PrintValue* values, std::uint32_t count,
                   Site site) {
    std::string text;
    std::uint32_t used = 0;
    bool mismatch = false;
    while (format != nullptr && *format != '\0') {
        if (*format != '%') {
            text += *format++;
            continue;
        }
        const char* const begin = format++;
        if (*format == '%') {
            text += *format++;
            continue;
        }
        Conversion conversion;
        format = Parse(format, &conversion, values, count, &used);
        if (used >= count) {
            mismatch = true;
            text.append(begin, format);
            continue;
        }
        if (!Append(text, conversion, values[used++])) {
            mismatch = true;
            text.append(begin, format);
        }
    }
    if (core != nullptr && (mismatch || used != count)) {
        Warn(*core, name, site, "the conversions of the format and the arguments do not agree");
    }
    return text;
}

void Emit(Core& core, const char* name, Site site, std::string text) {
    if (text.size() > kCallLimit) {
        Warn(core, name, site, "more than 30 KiB in one call: the device shows nothing of it");
        return;
    }
    core.AppendPrinted(Head(core) + std::move(text));
}

const char* TypeName(const DumpCall& call) {
    if (call.boolean) {
        return "bool";
    }
    return NameOf(call.operand.dtype);
}

void AppendElement(std::string& text, const DumpCall& call, const std::byte* bytes) {
    const auto load = [bytes](auto value) {
        std::memcpy(&value, bytes, sizeof value);
        return value;
    };
    switch (call.operand.dtype) {
        case DType::kFloat32:
            AppendFormatted(text, "%f", static_cast<double>(load(float{})));
            break;
        case DType::kFloat16:
            AppendFormatted(text, "%f", static_cast<double>(HalfToFloat(load(std::uint16_t{}))));
            break;
        case DType::kBfloat16:
            AppendFormatted(text, "%f", static_cast<double>(BfloatToFloat(load(std::uint16_t{}))));
            break;
        case DType::kInt8:
            text += std::to_string(load(std::int8_t{}));
            break;
        case DType::kUint8:
            text += std::to_string(load(std::uint8_t{}));
            break;
        case DType::kInt16:
            text += std::to_string(load(std::int16_t{}));
            break;
        case DType::kUint16:
            text += std::to_string(load(std::uint16_t{}));
            break;
        case DType::kInt32:
            text += std::to_string(load(std::int32_t{}));
            break;
        case DType::kUint32:
            text += std::to_string(load(std::uint32_t{}));
            break;
        case DType::kInt64:
            text += std::to_string(load(std::int64_t{}));
            break;
        default:
            text += std::to_string(load(std::uint64_t{}));
            break;
    }
}

// Elements in the nesting of `shape` from dimension `dim` on; what lies beyond the data is a dash.
void AppendNested(std::string& text, const DumpCall& call, const std::byte* data, std::uint32_t dim,
                  std::uint64_t* next) {
    text += '[';
    for (std::uint32_t i = 0; i < call.shape[dim]; ++i) {
        if (dim + 1 < call.dims) {
            text += i == 0 ? "" : ",\n";
            AppendNested(text, call, data, dim + 1, next);
            continue;
        }
        text += i == 0 ? "" : ",";
        if (*next < call.count) {
            AppendElement(text, call, data + *next * call.element_bytes);
        } else {
            text += '-';
        }
        ++*next;
    }
    text += ']';
}

std::string ShapeText(const DumpCall& call) {
    std::string text = "shape is [";
    for (std::uint32_t i = 0; i < call.dims; ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(call.shape[i]);
    }
    return text + "], dumpSize is " + std::to_string(call.count);
}

// Where the bytes are. Looking changes nothing: neither the order that the checker proves nor what counts as read, so
// that a dump cannot hide the race one looks for.
const std::byte* DumpSource(Core& core, const DumpCall& call) {
    const Operand& operand = call.operand;
    const std::uint64_t bytes = std::uint64_t{call.count} * call.element_bytes;
    const auto refuse = [&](const char* kind, const std::string& problem) {
        core.Fail(kind, Describe(call.name, call.site) + " on " + core.name() + ": " + problem, SiteKey(call.site));
    };
    if (operand.space == Space::kGlobal) {
        const GlobalRegion* region = core.FindGlobal(operand.address);
        if (region == nullptr || bytes > region->end - operand.address) {
            refuse("bounds", "the tensor reaches outside every buffer of the launch: " +
                                 core.machine().global().DescribeNearest(operand.address));
        }
        return reinterpret_cast<const std::byte*>(operand.address);
    }
    if (operand.space != Space::kUb && operand.space != Space::kL1 && operand.space != Space::kL0C) {
        refuse("parameter", std::string("the tensor lies in ") + NameOf(operand.space) +
                                ", it must lie in UB, L1, L0C or global memory");
    }
    if (operand.begin == kNoMemory) {
        refuse("bounds", "the tensor has no memory: it was declared and never assigned");
    }
    const std::uint64_t size = core.memory_bytes(operand.space);
    const std::uint64_t end = operand.end == 0 ? size : std::min<std::uint64_t>(size, operand.end);
    if (operand.address > end || bytes > end - operand.address) {
        refuse("bounds", std::string("the tensor reaches to ") + NameOf(operand.space) + " byte " +
                             std::to_string(operand.address + bytes) + ", its buffer ends at " + std::to_string(end));
    }
    const std::uint64_t alignment = operand.space == Space::kL0C ? 64 : 32;
    if (operand.address % alignment != 0) {
        refuse("alignment", "the tensor starts at byte " + std::to_string(operand.address) +
                                ", allowed: multiples of " + std::to_string(alignment));
    }
    return core.memory(operand.space) + operand.address;
}

// Within the memory or, as addresses of this process differ from run to run, within the buffer in global memory.
std::string AddressText(Core& core, const Operand& operand) {
    const GlobalRegion* buffer = operand.space == Space::kGlobal ? core.FindGlobal(operand.address) : nullptr;
    char address[32];
    std::snprintf(address, sizeof address, "0x%" PRIx64, operand.address - (buffer == nullptr ? 0 : buffer->begin));
    return buffer == nullptr ? address : address + (" of '" + buffer->name + "'");
}

}  // namespace

void Print(const char* format, const PrintValue* values, std::uint32_t count, Site site) {
    Core* const core = PrintingCore();
    if (core != nullptr) {
        Count(*core, "printf", site);
    }
    std::string text = Format(core, "printf", format, values, count, site);
    if (core == nullptr) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return;
    }
    Emit(*core, "printf", site, std::move(text));
}

void AssertFailed(const char* condition, const char* function, Site site, const char* format, const PrintValue* values,
                  std::uint32_t count) {
    Core* const core = PrintingCore();
    std::string text = std::string("`") + condition + "' failed";
    std::string own;
    if (format != nullptr) {
        own = Format(core, "assert", format, values, count, site);
        while (!own.empty() && own.back() == '\n') {
            own.pop_back();
        }
    }
    const std::string line = BaseName(site.file) + std::string(":") + std::to_string(site.line) + ": " + function +
                             ": Assertion " + text + "." + (own.empty() ? "" : " " + own) + "\n";
    if (core == nullptr) {
        std::fputs(line.c_str(), stderr);
        std::abort();
    }
    core->AppendPrinted(Head(*core) + "[ASSERT] " + line);
    core->Fail("assert",
               Describe("assert", site) + " on " + core->name() + ": " + text + (own.empty() ? "" : ": " + own),
               SiteKey(site));
}

void Trap(Site site) {
    Core& core = CurrentCore();
    core.Fail("assert", Describe("Trap", site) + " on " + core.name() + " stops the core", SiteKey(site));
}

void Dump(const DumpCall& call) {
    Core& core = CurrentCore();
    Count(core, call.name, call.site);
    const std::byte* const data = DumpSource(core, call);
    if (call.operand.dtype == DType::kInt4 || call.operand.dtype == DType::kOther) {
        core.Fail("parameter",
                  Describe(call.name, call.site) + " on " + core.name() + ": elements of this type cannot be shown",
                  SiteKey(call.site));
    }
    if (std::uint64_t{call.count} * call.element_bytes > kCallLimit) {
        Warn(core, call.name, call.site, "more than 30 KiB in one call: the device shows nothing of it");
        return;
    }
    std::uint64_t elements = call.dims > 0 ? 1 : call.count;
    for (std::uint32_t i = 0; i < call.dims; ++i) {
        elements *= call.shape[i];
        if (call.dims > 8 || elements > kCallLimit) {
            Warn(core, call.name, call.site, "the shape has more elements or dimensions than a dump can show");
            return;
        }
    }
    const char* position = call.operand.space == Space::kGlobal ? "GM" : NameOf(call.operand.space);
    std::string text = "DumpTensor: desc=" + std::to_string(call.tag) + ", addr=" + AddressText(core, call.operand) +
                       ", data_type=" + TypeName(call) + ", position=" + position +
                       ", dump_size=" + std::to_string(call.count) + "\n";
    if (call.dims == 0) {
        text += '[';
        for (std::uint32_t i = 0; i < call.count; ++i) {
            text += i == 0 ? "" : ", ";
            AppendElement(text, call, data + std::uint64_t{i} * call.element_bytes);
        }
        text += "]\n";
    } else {
        if (elements < call.count) {
            text += ShapeText(call) + ", dumpSize is greater than shapeSize.\n";
        } else if (elements > call.count) {
            text += ShapeText(call) + ", data is not enough.\n";
        }
        std::uint64_t next = 0;
        AppendNested(text, call, data, 0, &next);
        text += '\n';
    }
    core.AppendPrinted(Head(core) + text);
}

void PrintTime(std::uint32_t tag, Site site) {
    Core& core = CurrentCore();
    Count(core, "PrintTimeStamp", site);
    Emit(core, "PrintTimeStamp", site,
         "descId is " + std::to_string(tag) + ", rsv is 0, timeStamp is " + std::to_string(SystemCycle()) +
             ", pcPtr is 0, entry is 0.\n");
}

}  // namespace ascend_attention::sim
