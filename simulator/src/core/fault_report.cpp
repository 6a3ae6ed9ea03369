// SPDX-License-Identifier: Apache-2.0
// From a fault of device code to a finding that names the line.
#include <cstdio>
#include <string>
#include <vector>

#include "core/fault.h"
#include "core/line_table.h"
#include "core/machine.h"

namespace ascend_attention::sim {

namespace {

std::string Hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

// "libkernels_vector.so+0x1a2b": what tools that read debug information take.
std::string Offset(const LoadedCode& code, std::uint64_t pc) {
    return code.path.substr(code.path.rfind('/') + 1) + "+" + Hex(pc - code.bias);
}

// " at kernel.cpp:57 [libkernels_vector.so+0x1a2b]": of calls in device code, innermost first, the first line that is
// not in a header of the C++ library.
std::string DevicePlace(const LaunchCode& code, const std::vector<std::uint64_t>& calls) {
    std::string innermost;
    for (const std::uint64_t pc : calls) {
        const LoadedCode* device = code.Device(pc);
        if (device == nullptr) {
            continue;
        }
        const std::string offset = " [" + Offset(*device, pc) + "]";
        for (const SourceLine& source : FindSourceLines(device->path, pc - device->bias)) {
            const std::string text = " at " + source.file + ":" + std::to_string(source.line) + offset;
            if (!source.of_standard_library) {
                return text;
            }
            innermost = innermost.empty() ? text : innermost;
        }
        innermost = innermost.empty() ? " at a line that the debug information does not tell" + offset : innermost;
    }
    return innermost;
}

// That of a fault, and of the other library that it happened in.
std::string Place(const LaunchCode& code, const Fault& fault) {
    std::string text = DevicePlace(code, {fault.device_pc});
    if (fault.pc != fault.device_pc) {
        const LoadedCode inner = CodeAround(reinterpret_cast<const void*>(fault.pc));
        if (inner.end != 0) {
            text += std::string(text.empty() ? " inside" : ", inside") + " [" + Offset(inner, fault.pc) + "]";
        }
    }
    return text;
}

std::string AddressText(Core& core, const Fault& fault) {
    constexpr std::uint64_t kFirstPage = 4096;
    if (fault.wild) {
        return "memory through a pointer that is no address at all";
    }
    const std::string address = "address " + Hex(fault.address);
    if (fault.address < kFirstPage) {
        return address + " (a null pointer)";
    }
    return address + (fault.is_protected ? ", which is protected (" : ", where no memory is (") +
           core.machine().global().DescribeNearest(fault.address) + ")";
}

const char* Verb(FaultAccess access) {
    switch (access) {
        case FaultAccess::kRead:
            return "reads ";
        case FaultAccess::kWrite:
            return "writes ";
        case FaultAccess::kFetch:
            return "calls ";
        default:
            return "touches ";
    }
}

std::string Seconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", seconds);
    return text;
}

}  // namespace

std::string ThrownAt(Core& core) {
    const Throw* thrown = core.throws.Handled();
    if (core.code == nullptr || thrown == nullptr) {
        return "";
    }
    const std::vector<std::uint64_t> calls(thrown->calls.begin(), thrown->calls.begin() + thrown->call_count);
    const std::string text = DevicePlace(*core.code, calls);
    return thrown->again == 0 ? text : text + ", and again" + DevicePlace(*core.code, {thrown->again});
}

std::string AfterCall(const Core& core) {
    return core.last_call().name == nullptr ? "" : ", after " + Describe(core.last_call());
}

void ReportFault(Core& core, const LaunchCode& code, const Fault& fault, double stall_seconds) {
    const char* kind = "memory fault";
    std::string what;
    std::string advice;
    switch (fault.kind) {
        case FaultKind::kMemory:
            what = Verb(fault.access) + AddressText(core, fault);
            advice = "raw pointers are not checked: use GlobalTensor and LocalTensor";
            break;
        case FaultKind::kStackOverflow:
            kind = "stack overflow";
            what = "has used up its stack";
            advice = "an endless recursion, or arrays that are too large";
            break;
        case FaultKind::kArithmetic:
            kind = "arithmetic fault";
            what = "divides an integer by zero, or the smallest by -1";
            break;
        case FaultKind::kInstruction:
            kind = "illegal instruction";
            what = "runs into a trap";
            advice = "__builtin_trap, __builtin_unreachable, or a function without its return";
            break;
        case FaultKind::kAbort:
            kind = "abort";
            what = fault.signal == SIGABRT ? "calls abort" : "raises signal " + std::to_string(fault.signal);
            break;
        case FaultKind::kStall:
            kind = "stall";
            what = "has issued no instruction for " + Seconds(stall_seconds) + " s and still runs";
            advice = "a loop without any Ascend C call never lets another core go on";
            break;
    }
    std::string text = "device code on " + core.name() + " " + what + Place(code, fault) + AfterCall(core);
    text += advice.empty() ? "" : ": " + advice;
    core.Report(Severity::kError, kind, text, Hex(fault.device_pc == 0 ? fault.pc : fault.device_pc));
}

}  // namespace ascend_attention::sim
