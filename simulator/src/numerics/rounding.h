// SPDX-License-Identifier: Apache-2.0
// Cast's rounding modes, for every target that Cast has on A2/A3.
//
// A mode looks at the discarded part of the magnitude: kRint to nearest even, kRound to nearest with ties away from
// zero, kFloor and kCeil towards -inf and +inf, kTrunc towards zero, kOdd makes an inexact result odd. kNone is kRint
// where something is lost. Integers saturate; NaN becomes 0 (undocumented on the device; the choice of the inf/NaN
// mode leaves no NaN in an integer). Floats overflow as their mode says: to infinity, or to the largest finite value
// when the mode rounds towards zero there. Signed zeros keep their sign.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ascend_attention::sim {

enum class Rounding : std::uint8_t { kNone, kRint, kFloor, kCeil, kRound, kTrunc, kOdd };

void FloatToHalf(std::uint16_t* to, const float* from, std::size_t count, Rounding mode);
void FloatToBfloat(std::uint16_t* to, const float* from, std::size_t count, Rounding mode);
// To an integral value, still as float. In place is allowed. kOdd does not exist for integers.
void RoundToIntegral(float* to, const float* from, std::size_t count, Rounding mode);

// The argument is an integral value already (RoundToIntegral).
void IntegralToInt8(std::int8_t* to, const float* from, std::size_t count);
void IntegralToUint8(std::uint8_t* to, const float* from, std::size_t count);
void IntegralToInt16(std::int16_t* to, const float* from, std::size_t count);
void IntegralToInt32(std::int32_t* to, const float* from, std::size_t count);
void IntegralToInt64(std::int64_t* to, const float* from, std::size_t count);

void Int32ToFloat(float* to, const std::int32_t* from, std::size_t count, Rounding mode);
void Int64ToFloat(float* to, const std::int64_t* from, std::size_t count, Rounding mode);
// The exact product of each value and `scale`, rounded once to float16 (nearest even).
void ScaleInt32ToHalf(std::uint16_t* to, const std::int32_t* from, std::size_t count, float scale);

}  // namespace ascend_attention::sim
