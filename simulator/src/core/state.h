// SPDX-License-Identifier: Apache-2.0
// Machine state that scalar instructions set and later pipe instructions use: part of each Core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/call.h"

namespace ascend_attention::sim {

enum class AtomicMode : std::uint8_t { kNone, kAdd, kMax, kMin };

// The vector mask register pair. In counter mode mask[0] is an element count. `specified` becomes false after a call
// that leaves the register in a state the documentation does not promise (count forms, isSetMask = true).
struct MaskState {
    bool counter_mode = false;
    bool specified = true;
    std::array<std::uint64_t, 2> mask{~std::uint64_t{0}, ~std::uint64_t{0}};
};

struct AtomicState {
    AtomicMode mode = AtomicMode::kNone;
    DType dtype = DType::kOther;
};

// Set by SetFixpipeNz2ndFlag / SetFixpipePreQuantFlag / SetFixPipeConfig, used by Fixpipe.
struct FixpipeState {
    std::uint16_t nd_count = 1;
    std::uint16_t source_nd_stride = 0;
    std::uint16_t target_nd_stride = 0;
    std::uint64_t quant_scalar = 0;
    std::uint64_t quant_vector_address = 0;
};

// SetFmatrix: the image a LoadData3D reads, one register per matrix side.
struct FeatureMatrixState {
    bool specified = false;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::array<std::uint8_t, 4> pad{};  // left, right, top, bottom
};

// SetLoadDataRepeat and SetLoadDataBoundary, used by LoadData3D.
struct LoadRepeatState {
    std::uint32_t stride = 0;
    std::uint32_t times = 1;
    std::uint32_t mode = 0;  // 0 along m, 1 along k
    std::uint32_t boundary = 0;
};

// SetHF32Mode and SetHF32TransMode.
struct Hf32State {
    bool enabled = false;
    bool ties_to_zero = false;
};

// One flag per 512-byte unit of L0C: set when Mmad (unitFlag 3) hands a result over to Fixpipe.
inline constexpr std::size_t kUnitFlagBytes = 512;
inline constexpr std::size_t kUnitFlagCount = 128 * 1024 / kUnitFlagBytes;

// SetStoreAtomicConfig: kept to be read back. Copies do not look at it.
struct StoreAtomicState {
    std::uint16_t type = 0;
    std::uint16_t operation = 0;
};

// The register that SetDeqScale sets holds one of three things, depending on the form.
//   kHalf    a float16 scale, for int32 to float16 (its value is MachineState::deq_scale)
//   kConfig  scale, offset and sign of CastDeq without vector
//   kVector  where 16 such configurations lie in UB, for CastDeq with vector
struct DequantisationState {
    enum class Kind : std::uint8_t { kHalf, kConfig, kVector };
    Kind kind = Kind::kHalf;
    std::uint64_t config = 0;
    Operand vector{};
};

// What a reduction leaves for the scalar unit besides its destination.
struct ReductionRegister {
    bool specified = false;
    DType dtype = DType::kOther;
    std::uint32_t value = 0;  // bits of the element type
    std::uint32_t index = 0;
};

struct MachineState {
    MaskState mask;
    AtomicState atomic;
    StoreAtomicState store_atomic;
    FixpipeState fixpipe;
    float deq_scale = 1.0F;
    DequantisationState dequantisation;
    ReductionRegister extreme;         // of the last maximum or minimum
    ReductionRegister sum;             // of the last ReduceSum
    std::uint64_t gathered_count = 0;  // elements the last GatherMask kept
    std::uint64_t merged_counts = 0;   // pairs of each queue the last MrgSort merged, 16 bits each
    // Written by Compare without destination and by SetCmpMask, used by Select without selMask.
    std::array<std::uint64_t, 2> compare_mask{};
    std::uint64_t padding_value = 0;  // SetPadValue, bits of the element type
    bool padding_specified = false;   // false until SetPadValue, and after a DataCopyPad that brought its own value
    std::array<FeatureMatrixState, 2> feature_matrix;  // left, right
    std::uint64_t load_padding_value = 0;              // SetLoadDataPaddingValue, bits of the element type
    LoadRepeatState load_repeat;
    Hf32State hf32;
    // What LoadDataWithSparse keeps beside L0B: 128 bytes of indices per 512 bytes of values. Empty until its first
    // use.
    std::vector<std::byte> sparse_indices;
    std::array<std::uint8_t, kUnitFlagCount> unit_flags{};
};

}  // namespace ascend_attention::sim
