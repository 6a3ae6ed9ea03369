// SPDX-License-Identifier: Apache-2.0
// Sizes of the machine under the names that device code knows from the headers of both generations.
#pragma once

#include <cstdint>

#include "ascendc/system_macros.h"
#include "ascendc/vector_params.h"

namespace AscendC {

constexpr uint8_t B8_BYTE_SIZE = 1;
constexpr uint8_t B16_BYTE_SIZE = 2;
constexpr uint8_t B32_BYTE_SIZE = 4;
constexpr uint8_t B64_BYTE_SIZE = 8;
constexpr int32_t ONE_BYTE_BIT_SIZE = 8;

// Elements of a block of 32 bytes and of a repeat.
constexpr uint8_t B16_DATA_NUM_PER_BLOCK = 16;
constexpr uint8_t B32_DATA_NUM_PER_BLOCK = 8;
constexpr int32_t B16_DATA_NUM_PER_REPEAT = 128;
constexpr int32_t B32_DATA_NUM_PER_REPEAT = 64;
constexpr uint32_t ONE_BLK_HALF_NUM = ONE_BLK_SIZE / B16_BYTE_SIZE;
constexpr uint32_t ONE_BLK_FLOAT_NUM = ONE_BLK_SIZE / B32_BYTE_SIZE;
constexpr uint32_t ONE_REPEAT_HALF_SIZE = ONE_REPEAT_BYTE_SIZE / B16_BYTE_SIZE;
constexpr uint32_t ONE_REPEAT_FLOAT_SIZE = ONE_REPEAT_BYTE_SIZE / B32_BYTE_SIZE;
constexpr uint32_t HALF_REPEAT_SIZE = ONE_REPEAT_HALF_SIZE;
constexpr uint32_t FLOAT_REPEAT_SIZE = ONE_REPEAT_FLOAT_SIZE;
constexpr uint32_t MAX_REPEAT_HALF_SIZE = ONE_REPEAT_HALF_SIZE * MAX_REPEAT_TIMES;
constexpr uint32_t MAX_REPEAT_FLOAT_SIZE = ONE_REPEAT_FLOAT_SIZE * MAX_REPEAT_TIMES;
constexpr int32_t FULL_MASK_LEN = 128;

// A fractal of the cube unit.
constexpr int32_t BLOCK_CUBE = 16;
constexpr int32_t CUBE_MAX_SIZE = 256;
constexpr int32_t BYTE_PER_FRACTAL = 512;
constexpr int32_t DEFAULT_C0_SIZE = 32;

constexpr uint32_t TOTAL_L0A_SIZE = 64 * 1024;
constexpr uint32_t TOTAL_L0B_SIZE = 64 * 1024;
constexpr uint32_t TOTAL_L0C_SIZE = 128 * 1024;
constexpr int32_t TOTAL_VEC_LOCAL_SIZE = 184 * 1024;
constexpr uint32_t CACHE_LINE_SIZE = 64;

}  // namespace AscendC
