// SPDX-License-Identifier: Apache-2.0
// The only way an instruction reaches memory. An instruction first says what it reads and writes, as its documentation
// means it (active lanes, m x k, mSize x nSize), and gets host pointers back. Bounds are checked in every mode; in
// checked mode the same declaration feeds the race check and the initialisation shadow, so the two can never disagree
// with what was executed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

class Core;           // one AIC or AIV of one block, with its memories, pipes and machine state
class EventRecorder;  // takes down what the core does, in timed mode

// Bytes an instruction touches, relative to Operand::address: `bytes` at offset + i0*stride0 + i1*stride1 for
// i0 < count0, i1 < count1. Strides may be zero or larger than 2^31 bytes; negative strides do not exist on the
// machine.
struct Region {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t count0 = 1;
    std::uint64_t stride0 = 0;
    std::uint64_t count1 = 1;
    std::uint64_t stride1 = 0;
};

// A result that a vector instruction leaves in a register for the scalar unit.
enum class VectorRegister : std::uint8_t { kExtreme, kSum, kMerged };
inline constexpr int kVectorRegisterCount = 3;

// Names of cost rows of a move, by how its rows lie in global memory: without a gap, or else by what their distances
// (of rows written, their addresses too) are multiples of.
struct CostRows {
    const char* dense;
    const char* aligned512;
    const char* aligned256;
    const char* aligned128;
    const char* aligned32;
    const char* unaligned;
};
constexpr CostRows OneCostRow(const char* name) { return {name, name, name, name, name, name}; }

// One instruction being executed. Construct it first (it counts the instruction, ticks its pipe, bounds the run),
// then Require() every documented parameter rule, then declare all Reads, then all Writes, then compute.
class Access {
public:
    Access(Core& core, const Call& call);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

    // A documented limit. Raises a finding and ends the core when `ok` is false, e.g.
    // Require(repeat <= 255, "repeatTimes", repeat, "0..255").
    void Require(bool ok, const char* parameter, std::int64_t given, const char* allowed);
    // Start address alignment of an operand, in bytes (UB 32, L0A/L0B 512, L0C 64 ...).
    void RequireAligned(const Operand& operand, const char* name, std::uint64_t alignment);
    // The operand must lie in this memory (a vector operand in UB, Mmad's A in L0A ...).
    void RequireSpace(const Operand& operand, const char* name, Space space);

    // A value that the instruction computes with: uninitialised bytes are an error in checked mode.
    const std::byte* Reads(const Operand& operand, const char* name, const Region& region);
    // A value that is only carried to another place (copies, LoadData, Fixpipe without arithmetic): uninitialised
    // bytes are carried along by Carries() and reported where something computes with them or when they reach an
    // output.
    const std::byte* ReadsToCarry(const Operand& operand, const char* name, const Region& region);
    std::byte* Writes(const Operand& operand, const char* name, const Region& region);
    // Declares the destination defined only where the source bytes are. Call after Writes, once per contiguous piece,
    // only when ChecksInitialisation(); offsets are relative to the operands' addresses.
    void Carries(const Operand& to, std::uint64_t to_offset, const Operand& from, std::uint64_t from_offset,
                 std::uint64_t bytes);
    // Whether every byte of a source is defined: then rearranging instructions need no Carries. True in fast mode.
    bool AllDefined(const Operand& operand, std::uint64_t offset, std::uint64_t bytes) const;
    // Marks bytes inside an earlier Writes as undefined (padding lanes whose content the documentation leaves open).
    void Undefines(const Operand& operand, const Region& region);
    bool ChecksInitialisation() const;

    // Mmad, before its Reads: whether the hardware orders this accumulation after the Mmad it accumulates on (enough
    // fractals). Without the call it is not.
    void AccumulationIsOrdered(bool ordered);
    // unitFlag on L0C: before Reads and Writes, wait for what the other pipe released of these units; after them,
    // release the units to it.
    void AcquireUnits(const Operand& operand, const Region& region);
    void ReleaseUnits(const Operand& operand, const Region& region);

    // The scalar unit does not wait for the vector pipe by itself.
    void WritesRegister(VectorRegister result);
    void ReadsRegister(VectorRegister result, const char* name);
    // It tells the scalar unit something about data: a count, a result.
    void Looks();
    // How much the instruction has to do, in units of its cost row (repeats, fractal products). Without the call:
    // bytes.
    void Work(std::uint64_t units);
    // A vector call that sets the mask register on its way.
    void SetsMask();
    // Of Mmad, m * n * k.
    void Products(std::uint64_t count);
    // The name of the cost row, where it depends on how the rows lie in global memory, and how many rows there are.
    void CostsAs(const CostRows& names, std::uint64_t rows);

    Core& core() const { return core_; }

private:
    Core& core_;
    const Call& call_;
    std::uint32_t tick_ = 0;  // in checked mode: number of this instruction on its pipe, and its call site
    std::uint32_t site_ = 0;
    bool ordered_accumulation_ = false;
    EventRecorder* recorder_ = nullptr;
};

}  // namespace ascend_attention::sim
