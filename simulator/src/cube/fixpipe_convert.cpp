// SPDX-License-Identifier: Apache-2.0
#include "cube/fixpipe_convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "move/regions.h"
#include "numerics/half.h"

namespace ascend_attention::sim {

namespace {

// Bits of a scale. The factor is a float of 1 + 8 + 10 bits: the lower fraction bits are not wired.
constexpr std::uint64_t kFactorMask = 0xFFFFE000U;
constexpr int kShiftBit = 32;  // 4 bits: 1..16
constexpr int kShiftEnableBit = 36;
constexpr int kOffsetBit = 37;  // 9 bits, signed
constexpr int kSignBit = 46;

bool IsByte(Quant quant) {
    return quant == Quant::kFloatToByte || quant == Quant::kFloatToByteVector || quant == Quant::kIntToByte ||
           quant == Quant::kIntToByteVector;
}

bool FromInteger(Quant quant) {
    return quant == Quant::kIntToHalf || quant == Quant::kIntToHalfVector || quant == Quant::kIntToByte ||
           quant == Quant::kIntToByteVector;
}

// To the nearest integer, ties to even, within [low, high]; a NaN becomes 0.
std::int32_t RoundWithin(float value, std::int32_t low, std::int32_t high) {
    if (!(value > static_cast<float>(low))) {
        return value <= static_cast<float>(low) ? low : 0;
    }
    return value >= static_cast<float>(high) ? high : static_cast<std::int32_t>(std::nearbyint(value));
}

}  // namespace

bool IsVector(Quant quant) {
    return quant == Quant::kIntToHalfVector || quant == Quant::kFloatToByteVector || quant == Quant::kIntToByteVector;
}

bool HasScale(Quant quant) { return IsByte(quant) || FromInteger(quant); }

void RequireFixpipeTypes(Access& access, const FixpipeCall& move) {
    struct Combination {
        DType source;
        DType target;
        Quant quant;
        bool to_l1;
    };
    static constexpr Combination kCombinations[] = {
        {DType::kFloat32, DType::kFloat32, Quant::kNone, false},
        {DType::kInt32, DType::kInt32, Quant::kNone, false},
        {DType::kFloat32, DType::kFloat16, Quant::kFloatToHalf, true},
        {DType::kFloat32, DType::kBfloat16, Quant::kFloatToBfloat16, true},
        {DType::kInt32, DType::kFloat16, Quant::kIntToHalf, true},
        {DType::kInt32, DType::kFloat16, Quant::kIntToHalfVector, true},
        {DType::kFloat32, DType::kInt8, Quant::kFloatToByte, true},
        {DType::kFloat32, DType::kUint8, Quant::kFloatToByte, true},
        {DType::kFloat32, DType::kInt8, Quant::kFloatToByteVector, true},
        {DType::kFloat32, DType::kUint8, Quant::kFloatToByteVector, true},
        {DType::kInt32, DType::kInt8, Quant::kIntToByte, true},
        {DType::kInt32, DType::kUint8, Quant::kIntToByte, true},
        {DType::kInt32, DType::kInt8, Quant::kIntToByteVector, true},
        {DType::kInt32, DType::kUint8, Quant::kIntToByteVector, true},
    };
    const bool to_l1 = move.target.space == Space::kL1;
    bool found = false;
    for (const Combination& known : kCombinations) {
        found = found || (known.source == move.source.dtype && known.target == move.target.dtype &&
                          known.quant == move.quant && (known.to_l1 || !to_l1));
    }
    access.Require(
        found, "quantPre", static_cast<int>(move.quant),
        "F322F16 for float->half, F322BF16 for float->bfloat16_t, (V)DEQF16 for int32_t->half, (V)QF322B8_PRE "
        "for float->int8_t, uint8_t, (V)REQ8 for int32_t->int8_t, uint8_t, and to GM also NoQuant for "
        "float->float and int32_t->int32_t");
    access.Require(move.has_scales == IsVector(move.quant), "cbufWorkspace", move.has_scales,
                   "a tensor with VDEQF16, VQF322B8_PRE and VREQ8, none otherwise");
}

FixpipeConverter::Scale FixpipeConverter::Decode(std::uint64_t config) {
    Scale scale;
    scale.factor = FloatOf(static_cast<std::uint32_t>(config & kFactorMask));
    scale.shift = (config >> kShiftEnableBit & 1) != 0 ? static_cast<std::uint32_t>(config >> kShiftBit & 0xF) + 1 : 0;
    const auto offset = static_cast<std::int32_t>(config >> kOffsetBit & 0x1FF);
    scale.offset = offset >= 256 ? offset - 512 : offset;
    scale.is_signed = (config >> kSignBit & 1) != 0;
    return scale;
}

FixpipeConverter::FixpipeConverter(Access& access, const FixpipeCall& move) : move_(move) {
    if (!HasScale(move.quant)) {
        return;
    }
    scales_.resize(move.n_size, Decode(move.scale));
    if (move.has_scales) {
        access.RequireSpace(move.scales, "cbufWorkspace", move.from_state ? Space::kFixpipe : Space::kL1);
        access.RequireAligned(move.scales, "cbufWorkspace", kBlockBytes);
        const std::byte* data = access.Reads(move.scales, "cbufWorkspace", Region{0, move.n_size * 8ULL});
        for (std::uint64_t i = 0; i < scales_.size(); ++i) {
            std::uint64_t config;
            std::memcpy(&config, data + i * 8, sizeof config);
            scales_[i] = Decode(config);
        }
    }
    for (const Scale& scale : scales_) {
        access.Require(std::isnormal(scale.factor) || scale.factor == 0.0F, "scale", BitsOf(scale.factor),
                       "a normal float");
    }
}

void FixpipeConverter::Convert(std::byte* target, float* values) const {
    const std::size_t count = move_.n_size;
    if (move_.relu) {
        Rectify(values, count);
    }
    auto* narrow = reinterpret_cast<std::uint16_t*>(target);
    switch (move_.quant) {
        case Quant::kFloatToHalf:
            FloatToHalf(narrow, values, count);
            break;
        case Quant::kFloatToBfloat16:
            FloatToBfloat(narrow, values, count);
            break;
        case Quant::kIntToHalf:
        case Quant::kIntToHalfVector:
            ScaleRow(values, count);
            FloatToHalf(narrow, values, count);
            break;
        case Quant::kFloatToByte:
        case Quant::kFloatToByteVector:
        case Quant::kIntToByte:
        case Quant::kIntToByteVector:
            ScaleRow(values, count);
            ToBytes(target, values, count);
            break;
        default:
            std::memcpy(target, values, count * 4);
            break;
    }
}

void FixpipeConverter::Rectify(float* values, std::size_t count) const {
    const bool integers = move_.source.dtype == DType::kInt32;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = BitsOf(values[i]);
        const bool negative = integers ? bits >> 31 != 0 : values[i] < 0.0F;
        values[i] = FloatOf(negative ? 0 : bits);
    }
}

void FixpipeConverter::ScaleRow(float* values, std::size_t count) const {
    const bool integers = FromInteger(move_.quant);
    for (std::size_t i = 0; i < count; ++i) {
        if (!integers) {
            values[i] *= scales_[i].factor;
            continue;
        }
        auto value = static_cast<std::int32_t>(BitsOf(values[i]));
        if (scales_[i].shift != 0) {
            // The shifted value is a 16-bit integer on the machine.
            value = std::clamp<std::int32_t>(value >> scales_[i].shift, std::numeric_limits<std::int16_t>::min(),
                                             std::numeric_limits<std::int16_t>::max());
        }
        values[i] = static_cast<float>(value) * scales_[i].factor;
    }
}

// Rounded to 9 bits, then the offset, then saturated to the byte.
void FixpipeConverter::ToBytes(std::byte* target, const float* values, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t sum = RoundWithin(values[i], -256, 255) + scales_[i].offset;
        target[i] = scales_[i].is_signed ? static_cast<std::byte>(static_cast<std::int8_t>(std::clamp(sum, -128, 127)))
                                         : static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(sum, 0, 255)));
    }
}

}  // namespace ascend_attention::sim
