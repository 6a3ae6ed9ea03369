// SPDX-License-Identifier: Apache-2.0
// What one core did, in program order, compact enough for millions of instructions: the input of the timing replay.
// It holds no cycles: one run can be replayed under several assumptions about the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/call.h"

namespace ascend_attention::sim {

enum class StepKind : std::uint8_t {
    kInstruction,  // on `pipe`; on the scalar pipe it costs the scalar unit itself
    kSet,          // SetFlag: pipe -> target, id
    kWait,         // WaitFlag: pipe -> target, id
    kBarrier,      // PipeBarrier of `pipe`, or of all of them
    kCrossSet,     // CrossCoreSetFlag: pipe, mode in `target`, flag in `id`
    kCrossWait,    // CrossCoreWaitFlag: flag in `id`
};

struct Step {
    StepKind kind = StepKind::kInstruction;
    Pipe pipe = Pipe::kScalar;
    std::uint8_t target = 0;           // of an instruction of M or FIX, its unitFlag
    std::uint8_t id = 0;               // of an instruction of V, 1 when it sets the mask register on its way
    std::uint16_t instruction = 0;     // index into EventStream's table of distinct instructions
    std::uint16_t transfers = 0;       // pieces of global memory that the instruction moves
    std::uint32_t first_transfer = 0;  // the first of them
    std::uint32_t units = 0;           // what the cost row counts: repeats, fractal products, bytes
    std::uint32_t rows = 0;            // of a move, where its cost goes by rows; of Mmad, m * n * k
    std::uint32_t site = 0;            // index into EventStream's sites
};
static_assert(sizeof(Step) == 24);

// Bytes of global memory: `row_bytes` at address + i0*stride0 + i1*stride1. Addresses count from the start of the
// launch's buffers, laid out one after the other, so that two runs see the same ones.
struct Transfer {
    std::uint64_t address = 0;
    std::uint32_t row_bytes = 0;
    std::uint32_t count0 = 1;
    std::uint32_t count1 = 1;
    bool write = false;
    bool bypasses_l2 = false;
    bool shared = false;  // of a buffer that the kernel may write
    std::uint64_t stride0 = 0;
    std::uint64_t stride1 = 0;

    std::uint64_t rows() const { return std::uint64_t{count0} * count1; }
    std::uint64_t bytes() const { return rows() * row_bytes; }
};

// What decides which cost row applies.
struct InstructionKey {
    const char* name = "";
    Pipe pipe = Pipe::kScalar;
    DType dtype = DType::kOther;    // of the widest operand
    Space source = Space::kGlobal;  // of the first operand read, and of the one written: the path of a move
    Space target = Space::kGlobal;
    bool has_path = false;         // both are known: the instruction reads one operand and writes one
    bool units_are_bytes = false;  // else repeats, or fractal products
    bool unaligned = false;        // a move with rows in global memory that do not start on 512 bytes

    bool operator==(const InstructionKey& other) const {
        return name == other.name && pipe == other.pipe && dtype == other.dtype && source == other.source &&
               target == other.target && has_path == other.has_path && units_are_bytes == other.units_are_bytes &&
               unaligned == other.unaligned;
    }
    struct Hash {
        std::size_t operator()(const InstructionKey& key) const {
            const auto kind =
                static_cast<std::uint64_t>(key.pipe) | static_cast<std::uint64_t>(key.dtype) << 8 |
                static_cast<std::uint64_t>(key.source) << 16 | static_cast<std::uint64_t>(key.target) << 24 |
                static_cast<std::uint64_t>(key.units_are_bytes) << 32 |
                static_cast<std::uint64_t>(key.unaligned) << 33 | static_cast<std::uint64_t>(key.has_path) << 34;
            const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(key.name) ^ kind) * 0x9E3779B97F4A7C15U;
            return static_cast<std::size_t>(mixed ^ mixed >> 32);
        }
    };
};

inline bool operator==(const Site& a, const Site& b) { return a.file == b.file && a.line == b.line; }
struct SiteHash {
    std::size_t operator()(const Site& site) const {
        const std::uint64_t mixed =
            (reinterpret_cast<std::uint64_t>(site.file) ^ static_cast<std::uint64_t>(site.line)) * 0x9E3779B97F4A7C15U;
        return static_cast<std::size_t>(mixed >> 32);
    }
};

// Instruction `step` of M or FIX takes units of L0C that `by`, of the other pipe, hands over (unitFlag).
struct UnitWait {
    std::uint32_t step = 0;
    std::uint32_t by = 0;
};

// The scalar unit touches global memory that the kernel may write. Cores could synchronise that way.
struct WordAccess {
    std::uint64_t address = 0;  // as of a Transfer
    std::uint32_t step = 0;     // of the stream, whose own step it is
    std::uint16_t bytes = 0;
    bool write = false;
};

struct EventStream {
    std::vector<Step> steps;
    std::vector<Transfer> transfers;
    std::vector<InstructionKey> instructions;
    std::vector<Site> sites;
    std::vector<UnitWait> unit_waits;  // by step
    std::vector<WordAccess> words;     // by step
    // The scalar unit has looked at data in the core's memory for the last time at this step. What the core read before
    // may have decided what it did.
    std::uint32_t looked_before = 0;
};

}  // namespace ascend_attention::sim
