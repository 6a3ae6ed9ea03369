// SPDX-License-Identifier: Apache-2.0
// Cube-side instructions as the machine sees them: loads into L0A/L0B, the matrix multiply, and Fixpipe. Filled by
// ascendc/cube.h; every field keeps the name and unit of the Ascend C parameter it comes from.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

struct Load2dCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t start_index = 0;
    std::uint32_t repeat_times = 0;
    std::uint32_t source_stride = 0;
    std::uint32_t target_gap = 0;
    bool transpose = false;
    std::uint32_t address_mode = 0;
};

// LoadDataWithTranspose.
struct LoadTransposeCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint32_t start_index = 0;
    std::uint32_t repeat_times = 0;
    std::uint32_t source_stride = 0;
    std::uint32_t target_gap = 0;
    std::uint32_t target_fractal_gap = 0;
    std::uint32_t address_mode = 0;
};

// LoadDataWithSparse: fractals of a matrix that keeps two of every four values, and the indices of the kept ones.
struct LoadSparseCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    Operand indices;
    std::uint32_t start_index = 0;
    std::uint32_t repeat_times = 0;
};

// LoadData with LoadData3DParamsV2. When `sets_fmatrix` is true the call writes the feature-map register itself, as the
// Ascend C call does by default; otherwise SetFmatrix must have been called. Likewise for the padding value.
struct Load3dCall {
    Site site{"", 0};
    Operand target;
    Operand source;
    std::uint8_t pad[4] = {0, 0, 0, 0};  // left, right, top, bottom
    std::uint32_t l1_height = 0;
    std::uint32_t l1_width = 0;
    std::uint32_t channels = 0;
    std::uint32_t k_extension = 0;
    std::uint32_t m_extension = 0;
    std::uint32_t k_start = 0;
    std::uint32_t m_start = 0;
    std::uint32_t stride_w = 1;
    std::uint32_t stride_h = 1;
    std::uint32_t filter_w = 1;
    std::uint32_t filter_h = 1;
    std::uint32_t dilation_w = 1;
    std::uint32_t dilation_h = 1;
    bool transpose = false;
    bool small_k = false;
    bool right_fmatrix = false;
    std::uint64_t pad_value = 0;  // bits of one element
    bool sets_fmatrix = true;
    bool sets_pad_value = true;
};

struct MmadCall {
    Site site{"", 0};
    Operand target;
    Operand left;
    Operand right;
    bool has_bias = false;
    Operand bias;
    bool sparse = false;  // MmadWithSparse: `right` and the index memory are what LoadDataWithSparse left
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    std::uint32_t unit_flag = 0;
    bool k_direction_align = false;
    bool c_from_bias_table = false;
    bool c_init_zero = true;
};

// The conversions of QuantMode_t that architecture 2201 has. "Vector": one scale per column.
enum class Quant : std::uint8_t {
    kNone,
    kFloatToHalf,
    kFloatToBfloat16,
    kIntToHalf,
    kIntToHalfVector,
    kFloatToByte,
    kFloatToByteVector,
    kIntToByte,
    kIntToByteVector,
    kOther
};

// `from_state`: DataCopy with DataCopyCO12DstParams, whose matrix strides and scales come from SetFixpipeNz2ndFlag,
// SetFixpipePreQuantFlag and SetFixPipeConfig.
struct FixpipeCall {
    Site site{"", 0};
    bool from_state = false;
    Operand target;
    Operand source;
    bool has_scales = false;
    Operand scales;         // one uint64_t per column, in L1 (in the Fixpipe buffer with from_state)
    bool row_major = true;  // NZ2ND, to global memory only
    std::uint32_t n_size = 0;
    std::uint32_t m_size = 0;
    std::uint32_t source_stride = 0;
    std::uint32_t target_stride = 0;
    Quant quant = Quant::kNone;
    std::uint64_t scale = 0;
    std::uint32_t nd_count = 1;
    std::uint32_t source_nd_stride = 0;
    std::uint32_t target_nd_stride = 0;
    bool relu = false;
    std::uint32_t unit_flag = 0;
    bool channel_split = false;
};

ASCEND_SIM_API void Execute(const Load2dCall& call);
ASCEND_SIM_API void Execute(const LoadTransposeCall& call);
ASCEND_SIM_API void Execute(const LoadSparseCall& call);
ASCEND_SIM_API void Execute(const Load3dCall& call);
ASCEND_SIM_API void Execute(const MmadCall& call);
ASCEND_SIM_API void Execute(const FixpipeCall& call);

// Machine state set from the scalar pipe.
ASCEND_SIM_API void SetFeatureMatrix(bool right, std::uint32_t height, std::uint32_t width, const std::uint8_t pad[4],
                                     const Site& site);
ASCEND_SIM_API void SetLoadPaddingValue(std::uint64_t bits, const Site& site);
ASCEND_SIM_API void SetLoadBoundary(std::uint32_t boundary, const Site& site);
ASCEND_SIM_API void SetLoadRepeat(std::uint32_t stride, std::uint32_t times, std::uint32_t mode, const Site& site);
// HF32: float operands of Mmad are rounded to 11 fraction bits first; ties go to even, or towards zero.
ASCEND_SIM_API void SetHf32(bool enabled, const Site& site);
ASCEND_SIM_API void SetHf32TiesToZero(bool ties_to_zero, const Site& site);
// Which way the cube walks through its result: a matter of speed, counted as an instruction and nothing more.
ASCEND_SIM_API void SetMatrixLayout(const char* name, const Site& site);
ASCEND_SIM_API void SetFixpipeNzToNd(std::uint32_t nd_count, std::uint32_t source_nd_stride,
                                     std::uint32_t target_nd_stride, const Site& site);
ASCEND_SIM_API void SetFixpipeQuantScalar(std::uint64_t scale, const Site& site);
// SetFixPipeConfig: where per-column scales lie in the Fixpipe buffer; clear_units resets every unit flag of L0C. With
// `for_relu` the tensor is the one for relu, which no mode of this architecture reads, and the scales' address becomes
// 0.
ASCEND_SIM_API void SetFixpipeTensors(const Operand& tensor, bool for_relu, bool clear_units, const Site& site);

// A call of the interface that this architecture does not have.
ASCEND_SIM_API void NotOnThisArchitecture(const char* name, const char* what, const Site& site);

}  // namespace ascend_attention::sim
