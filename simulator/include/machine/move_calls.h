// SPDX-License-Identifier: Apache-2.0
// Data movement as the machine sees it: one descriptor per instruction form, filled by ascendc/data_copy.h. Lengths and
// gaps keep the units of the Ascend C parameter they come from; the machine converts them, because the unit depends on
// the path (32 bytes for UB and L1, 64 for the bias table, 128 for the Fixpipe buffer).
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

// DataCopy with DataCopyParams. Into the bias table half may become float on the way; lengths then count results.
struct CopyBlocksCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t element_bytes = 1;
    std::uint32_t block_count = 1;
    std::uint32_t block_len = 0;
    std::uint32_t source_gap = 0;
    std::uint32_t target_gap = 0;
};

// DataCopy with an element count.
struct CopyCountCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t element_bytes = 1;
    std::uint32_t count = 0;
};

// DataCopy with SliceInfo: the same box cut out of two tensors of up to eight dimensions, the first one innermost.
inline constexpr int kSliceDims = 8;
struct CopySliceCall {
    struct Slice {
        std::uint32_t start = 0;
        std::uint32_t end = 0;
        std::uint32_t stride = 0;
        std::uint32_t burst = 0;  // 32-byte blocks
        std::uint32_t shape = 0;
    };
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t element_bytes = 1;
    std::uint32_t dims = 0;
    Slice target_slices[kSliceDims];
    Slice source_slices[kSliceDims];
};

// DataCopy with Nz2NdParamsFull: fractals of 16 columns in UB become rows in GM.
struct CopyNzToNdCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t element_bytes = 2;
    std::uint32_t nd_count = 1;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t source_matrix_stride = 0;
    std::uint32_t source_column_stride = 0;
    std::uint32_t target_row_stride = 0;
    std::uint32_t target_matrix_stride = 0;
};

// DataCopy with Nd2NzParams, to L1 or UB; elements of 4 bits count as bytes.
struct CopyNdToNzCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t element_bytes = 1;
    std::uint32_t nd_count = 0;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t source_matrix_stride = 0;
    std::uint32_t source_row_stride = 0;
    std::uint32_t target_c0_stride = 0;
    std::uint32_t target_row_stride = 0;
    std::uint32_t target_matrix_stride = 0;
};

// DataCopyPad, both ways and both generations of parameters. Padding applies to GM to UB only.
struct CopyPadCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t element_bytes = 1;
    std::uint32_t block_count = 1;
    std::uint32_t block_bytes = 0;
    std::uint64_t source_gap = 0;
    std::uint64_t target_gap = 0;
    bool pad = false;
    std::uint32_t left_elements = 0;
    std::uint32_t right_elements = 0;
    std::uint64_t pad_value = 0;  // bits of one element
};

// InitConstValue (8.x) and Fill (9.x).
struct InitConstCall {
    Site site{"", 0};
    const char* name = "InitConstValue";
    Operand target;
    std::uint32_t element_bytes = 2;
    std::uint32_t repeat_times = 0;
    std::uint32_t block_count = 0;
    std::uint32_t target_gap = 0;
    std::uint64_t value = 0;  // bits of one element
};

// InitOutput (8.x) and Fill (9.x): `count` elements of global memory set to one value.
struct InitOutputCall {
    Site site{"", 0};
    const char* name = "InitOutput";
    Operand target;
    std::uint32_t element_bytes = 2;
    std::uint64_t count = 0;
    std::uint64_t value = 0;
};

ASCEND_SIM_API void Execute(const CopyBlocksCall& call);
ASCEND_SIM_API void Execute(const CopyCountCall& call);
ASCEND_SIM_API void Execute(const CopySliceCall& call);
ASCEND_SIM_API void Execute(const CopyNzToNdCall& call);
ASCEND_SIM_API void Execute(const CopyNdToNzCall& call);
ASCEND_SIM_API void Execute(const CopyPadCall& call);
ASCEND_SIM_API void Execute(const InitConstCall& call);
ASCEND_SIM_API void Execute(const InitOutputCall& call);

// Machine state set from the scalar pipe.
ASCEND_SIM_API void SetPaddingValue(std::uint64_t bits, const Site& site);

// kType changes the type of the mode in force, and starts to add when there is none.
enum class AtomicRequest : std::uint8_t { kNone, kAdd, kMax, kMin, kType };

ASCEND_SIM_API void SetAtomic(const char* name, AtomicRequest request, DType dtype, const Site& site);

// A register beside the atomic modes of copies: type and operation, read back as they were set.
ASCEND_SIM_API void SetStoreAtomic(std::uint16_t type, std::uint16_t operation, const Site& site);
ASCEND_SIM_API void GetStoreAtomic(std::uint16_t* type, std::uint16_t* operation, const Site& site);

// UB to L1: on this architecture a service of a Matmul object on the cube core, which is not modelled.
ASCEND_SIM_API void NeedsMatmulService(const char* name, const Site& site);

}  // namespace ascend_attention::sim
