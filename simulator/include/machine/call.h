// SPDX-License-Identifier: Apache-2.0
// What the thin Ascend C headers hand to the machine: where an operand lies, what it holds, and which line of the
// kernel asked for it. Nothing here is a template and nothing here owns state: the state lives in the machine library.
#pragma once

#include <cstdint>

// Machine functions that device code calls. Device libraries and the rest of the machine are built with hidden
// visibility; these are the only symbols that cross.
#define ASCEND_SIM_API __attribute__((visibility("default")))

namespace ascend_attention::sim {

enum class Space : std::uint8_t { kGlobal, kUb, kL1, kL0A, kL0B, kL0C, kBias, kFixpipe };
inline constexpr int kSpaceCount = 8;

// Order fixed: it indexes clocks and report rows. kAll is only an argument of PipeBarrier.
enum class Pipe : std::uint8_t { kScalar, kVector, kCube, kMte1, kMte2, kMte3, kFixpipe, kAll };
inline constexpr int kPipeCount = 7;

enum class DType : std::uint8_t {
    kFloat16,
    kBfloat16,
    kFloat32,
    kInt4,
    kInt8,
    kUint8,
    kInt16,
    kUint16,
    kInt32,
    kUint32,
    kInt64,
    kUint64,
    kOther
};

// The line of device code that made a call. Default arguments of every public call capture it, so a finding can point
// at the kernel and never at the simulator's headers.
struct Site {
    const char* file;
    int line;

    static constexpr Site Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Site{file, line};
    }
};

// One tensor argument. `address` is a byte offset within the space, or for global memory a host address. `begin` and
// `end` bound the buffer the tensor was cut from (a TBuf, a queue slot, the whole memory), in the same units; for
// global memory both are 0 and the registered region decides.
struct Operand {
    Space space = Space::kUb;
    DType dtype = DType::kOther;
    std::uint64_t address = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    // The bounds are only what the kernel's author wrote beside an address of their own choice. The machine does not
    // know them, so an instruction that passes them within the memory is a warning.
    bool placed = false;
    // Of global memory, SetL2CacheHint(CACHE_MODE_DISABLE): bit 0 for reads, bit 1 for writes. Timed mode looks at it.
    std::uint8_t bypasses_l2 = 0;
};

// `begin` of a tensor that was never given any memory: every access lies before it.
inline constexpr std::uint64_t kNoMemory = ~std::uint64_t{0};

// The head of every call descriptor. `name` is the Ascend C name as the kernel wrote it ("DataCopy", "Add").
struct Call {
    const char* name;
    Pipe pipe;
    Site site;
};

}  // namespace ascend_attention::sim
