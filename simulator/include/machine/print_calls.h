// SPDX-License-Identifier: Apache-2.0
// What device code prints: formatted text, tensors, failed assertions. The text goes into the run's report.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

// One argument of printf with the type that device code gave it: the conversion says how to show it.
struct PrintValue {
    enum class Kind : std::uint8_t { kSigned, kUnsigned, kFloat, kText, kPointer };
    Kind kind = Kind::kSigned;
    std::int64_t integer = 0;
    double real = 0.0;
    const void* pointer = nullptr;
};

ASCEND_SIM_API void Print(const char* format, const PrintValue* values, std::uint32_t count, Site site);

// Ends the core. `format` is null when the assertion has no text of its own.
[[noreturn]] ASCEND_SIM_API void AssertFailed(const char* condition, const char* function, Site site,
                                              const char* format, const PrintValue* values, std::uint32_t count);
[[noreturn]] ASCEND_SIM_API void Trap(Site site);

struct DumpCall {
    const char* name;
    Operand operand;
    std::uint32_t element_bytes = 0;
    bool boolean = false;
    std::uint32_t tag = 0;
    std::uint32_t count = 0;
    std::uint32_t dims = 0;  // 0: a flat list
    const std::uint32_t* shape = nullptr;
    Site site;
};
ASCEND_SIM_API void Dump(const DumpCall& call);

ASCEND_SIM_API void PrintTime(std::uint32_t tag, Site site);

}  // namespace ascend_attention::sim
