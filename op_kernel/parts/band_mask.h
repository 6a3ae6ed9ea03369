// SPDX-License-Identifier: Apache-2.0
// Hiding score columns. Hidden scores become -inf by masked Duplicate, a whole 64-lane column group or the part of one
// that a bit mask selects; nothing is compared and no mask is read. exp(-inf - maximum) is 0 for every finite maximum.
#pragma once

#include "engine/arithmetic.h"

namespace ascend_attention {

// Bit patterns, since the device compiler offers no std::numeric_limits.
constexpr uint32_t kMinusInfinityBits = 0xFF800000U;
constexpr uint32_t kPlusInfinityBits = 0x7F800000U;
constexpr uint32_t kLowestFloatBits = 0xFF7FFFFFU;
// -3.4e38: above the lowest float, where running maxima start, and below every sink (bfloat16's lowest is -3.39e38).
constexpr uint32_t kWeightlessBits = 0xFF7FC99EU;

__aicore__ inline float FloatFromBits(uint32_t bits) {
    union {
        uint32_t bits;
        float value;
    } pun = {bits};
    return pun.value;
}

// Writes `value` to the columns [begin, end) of `rows` consecutive rows that are `pitch` floats apart (multiple of 64).
__aicore__ inline void FillColumns(const AscendC::LocalTensor<float>& scores, int32_t rows, int32_t pitch,
                                   int32_t begin, int32_t end, float value) {
    while (begin < end) {
        const int32_t group = begin / kFloatsPerRepeat * kFloatsPerRepeat;
        const int32_t from = begin - group;
        const int32_t to = Min(end - group, kFloatsPerRepeat);
        const uint64_t below_to = to == kFloatsPerRepeat ? ~uint64_t(0) : (uint64_t(1) << to) - 1;
        uint64_t mask[2] = {below_to & ~((uint64_t(1) << from) - 1), 0};
        AscendC::Duplicate(scores[group], value, mask, uint8_t(rows), 1, uint8_t(pitch / kFloatsPerBlock));
        begin = group + kFloatsPerRepeat;
    }
}

// Columns of one row of the current key tile that its band lets it see: [begin, end) of [0, keys).
struct VisibleColumns {
    int32_t begin;
    int32_t end;
};

__aicore__ inline VisibleColumns ColumnsOfPosition(const SequencePlan& sequence, int32_t position, int32_t key_begin,
                                                   int32_t keys) {
    VisibleColumns visible;
    visible.begin = Clamp(position + sequence.band_low - key_begin, 0, keys);
    visible.end = Clamp(position + sequence.band_high + 1 - key_begin, visible.begin, keys);
    return visible;
}

}  // namespace ascend_attention
