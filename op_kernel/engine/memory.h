// SPDX-License-Identifier: Apache-2.0
// One struct per memory: offsets come from the compiler, one assertion bounds each size. Element types are spelled as
// storage (16-bit values as uint16_t); a view of the right type is taken where a buffer is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/flags.h"
#include "plan/attention_plan.h"

namespace ascend_attention {

constexpr int32_t kVectorRows = kTileRowsMax / 2;  // rows of a tile on one vector core
constexpr int32_t kChunkElements = 4096;           // a chunk of rows that the vector unit works on at a time
constexpr int32_t kOperandElements = kCubeStep * kCubeStep;

struct L1Memory {
    uint16_t query[kQueryBuffers][kTileRowsMax * kHeadDimMax];
    uint16_t operand[kOperandBuffers][kOperandElements];
};
// 512 KiB less the 256 bytes that mix kernels reserve.
static_assert(sizeof(L1Memory) <= 512 * 1024 - 256, "L1");

struct L0AMemory {
    uint16_t left[kL0Buffers][kOperandElements];
};
static_assert(sizeof(L0AMemory) <= 64 * 1024, "L0A");

struct L0BMemory {
    uint16_t right[kL0Buffers][kOperandElements];
};
static_assert(sizeof(L0BMemory) <= 64 * 1024, "L0B");

struct L0CMemory {
    float product[kAccumulatorBuffers][kTileRowsMax * kCubeStep];
};
static_assert(sizeof(L0CMemory) <= 128 * 1024, "L0C");

struct UbMemory {
    float scores[kScoreBuffers][kChunkElements];
    float partial[kPartialBuffers][kChunkElements];
    uint16_t store[kStoreBuffers][kChunkElements];  // P on its way to the cube core, or output rows
    float accumulator[kVectorRows * kHeadDimMax];   // O of the current rows, before normalisation
    uint8_t mask[kScoreBuffers][kChunkElements];
    float scratch[kVectorRows * 64];  // row reductions; the mask as half
    uint8_t mask_bits[kChunkElements / 8];
    float broadcast[kVectorRows * 8];  // one 32-byte block per row
    float lse_blocks[kVectorRows * 8];
    float lse[kVectorRows];
    float running_max[2][kVectorRows];  // by parity of the task
    float running_sum[2][kVectorRows];
    float correction[2][kVectorRows];  // exp(old maximum - new maximum), by parity of the step
    float new_max[kVectorRows];
    float row_max[kVectorRows];
    float row_sum[kVectorRows];
};
static_assert(kChunkElements * sizeof(uint16_t) <= sizeof(UbMemory::scratch), "the mask as half fits into scratch");
// 192 KiB less 256 reserved bytes, less 8 KiB that Select and the toolchain take.
static_assert(sizeof(UbMemory) <= 184 * 1024 - 256, "UB");

struct CoreWorkspace {
    uint8_t scores[kRingSlots][kScoreSlotBytes];
    uint8_t probs[kRingSlots][kProbSlotBytes];
    uint8_t partial[kRingSlots][kPartialSlotBytes];
};
static_assert(sizeof(CoreWorkspace) == kCoreWorkspaceBytes, "workspace of one core");

}  // namespace ascend_attention
