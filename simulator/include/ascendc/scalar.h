// SPDX-License-Identifier: Apache-2.0
// The scalar unit's own arithmetic, and its accesses to global memory around the data cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ascendc/tensor.h"
#include "ascendc/vector_params.h"
#include "machine/core_calls.h"

namespace AscendC {

template <int countValue>
int64_t GetBitCount(uint64_t valueIn) {
    static_assert(countValue == 0 || countValue == 1, "countValue must be 0 or 1");
    const int64_t ones = __builtin_popcountll(valueIn);
    return countValue == 1 ? ones : 64 - ones;
}
template <int countValue>
int64_t ScalarGetCountOfValue(uint64_t valueIn) {
    return GetBitCount<countValue>(valueIn);
}

inline int64_t CountLeadingZero(uint64_t valueIn) { return valueIn == 0 ? 64 : __builtin_clzll(valueIn); }
inline int64_t ScalarCountLeadingZero(uint64_t valueIn) { return CountLeadingZero(valueIn); }

// Bits below the sign that repeat it, from the top.
inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) { return __builtin_clrsbll(valueIn); }

// The lowest bit of that value, -1 when there is none.
template <int countValue>
int64_t GetSFFValue(uint64_t valueIn) {
    static_assert(countValue == 0 || countValue == 1, "countValue must be 0 or 1");
    return static_cast<int64_t>(__builtin_ffsll(static_cast<long long>(countValue == 1 ? valueIn : ~valueIn))) - 1;
}
template <int countValue>
int64_t ScalarGetSFFValue(uint64_t valueIn) {
    return GetSFFValue<countValue>(valueIn);
}

// float to half rounds to odd, float to int32_t in the four directions; out of range saturates and NaN is 0.
template <typename T, typename U, RoundMode roundMode>
U Cast(T valueIn) {
    static_assert(std::is_same_v<T, float>, "a scalar Cast starts from float");
    static_assert(std::is_same_v<U, half> || std::is_same_v<U, int32_t>, "a scalar Cast gives half or int32_t");
    if constexpr (std::is_same_v<U, half>) {
        static_assert(roundMode == RoundMode::CAST_ODD, "float to half exists with CAST_ODD only");
        half result;
        result.bits = sim::ScalarFloatToHalfOdd(valueIn);
        return result;
    } else {
        static_assert(roundMode == RoundMode::CAST_ROUND || roundMode == RoundMode::CAST_CEIL ||
                          roundMode == RoundMode::CAST_FLOOR || roundMode == RoundMode::CAST_RINT,
                      "float to int32_t exists with CAST_ROUND, CAST_CEIL, CAST_FLOOR and CAST_RINT");
        return sim::ScalarFloatToInt32(valueIn, static_cast<uint8_t>(roundMode));
    }
}
template <typename T, typename U, RoundMode roundMode>
U ScalarCast(T valueIn) {
    return Cast<T, U, roundMode>(valueIn);
}
inline bfloat16_t Cast(const float& fVal) { return bfloat16_t(fVal); }
inline float Cast(const bfloat16_t& bVal) { return static_cast<float>(bVal); }
// The names of 8.x.
inline bfloat16_t ToBfloat16(const float& fVal) { return bfloat16_t(fVal); }
inline float ToFloat(const bfloat16_t& bVal) { return static_cast<float>(bVal); }

namespace detail {

template <typename T>
sim::Operand GlobalElement(const __gm__ T* address) {
    static_assert(std::is_integral_v<T>, "accesses around the data cache exist for integers of 8 to 64 bits");
    sim::Operand operand;
    operand.space = sim::Space::kGlobal;
    operand.dtype = DTypeOf<T>();
    operand.address = reinterpret_cast<uint64_t>(address);
    return operand;
}

}  // namespace detail

template <typename T>
void WriteGmByPassDCache(__gm__ T* addr, T value, sim::Site site = sim::Site::Here()) {
    sim::ScalarStoreUncached(detail::GlobalElement(addr), &value, sizeof(T), "WriteGmByPassDCache", site);
}
template <typename T>
T ReadGmByPassDCache(__gm__ T* addr, sim::Site site = sim::Site::Here()) {
    T value;
    sim::ScalarLoadUncached(detail::GlobalElement(addr), &value, sizeof(T), "ReadGmByPassDCache", site);
    return value;
}

}  // namespace AscendC
