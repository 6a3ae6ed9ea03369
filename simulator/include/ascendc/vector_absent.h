// SPDX-License-Identifier: Apache-2.0
// Calls of the interface that other architectures have and A2/A3 do not. Those whose CANN header fails at run time end
// in a finding; those it does not implement at all are refused when a kernel instantiates them.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {
namespace vector_call {

template <typename...>
constexpr bool kOnThisArchitecture = false;

inline void Absent(const char* name, const sim::Site& site) {
    sim::RequireUse(false, name, "is not supported on A2/A3", site);
}

}  // namespace vector_call

template <typename T>
__aicore__ inline void Scatter(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<uint32_t>&,
                               const uint32_t, const uint64_t, const uint8_t, const uint8_t,
                               sim::Site site = sim::Site::Here()) {
    vector_call::Absent("Scatter", site);
}

template <typename T>
__aicore__ inline void Scatter(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<uint32_t>&,
                               const uint32_t, const uint64_t[], const uint8_t, const uint8_t,
                               sim::Site site = sim::Site::Here()) {
    vector_call::Absent("Scatter", site);
}

template <typename T>
__aicore__ inline void Scatter(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<uint32_t>&,
                               const uint32_t, const uint32_t, sim::Site site = sim::Site::Here()) {
    vector_call::Absent("Scatter", site);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void VectorPadding(const LocalTensor<T>&, const LocalTensor<T>&, const uint8_t, const bool,
                                     const uint64_t, const uint8_t, const UnaryRepeatParams&,
                                     sim::Site site = sim::Site::Here()) {
    vector_call::Absent("VectorPadding", site);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void VectorPadding(const LocalTensor<T>&, const LocalTensor<T>&, const uint8_t, const bool,
                                     const uint64_t[], const uint8_t, const UnaryRepeatParams&,
                                     sim::Site site = sim::Site::Here()) {
    vector_call::Absent("VectorPadding", site);
}

template <typename T>
__aicore__ inline void VectorPadding(const LocalTensor<T>&, const LocalTensor<T>&, const uint8_t, const bool,
                                     const uint32_t, sim::Site site = sim::Site::Here()) {
    vector_call::Absent("VectorPadding", site);
}

template <typename T>
struct MrgSortSrcList;
struct MrgSort4Info;

template <typename T>
__aicore__ inline void MrgSort4(const LocalTensor<T>&, const MrgSortSrcList<T>&, const MrgSort4Info&,
                                sim::Site site = sim::Site::Here()) {
    vector_call::Absent("MrgSort4", site);
}

template <typename T>
__aicore__ inline void RpSort16(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t,
                                sim::Site site = sim::Site::Here()) {
    vector_call::Absent("RpSort16", site);
}

template <typename T>
__aicore__ inline void ProposalConcat(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t, const int32_t,
                                      sim::Site site = sim::Site::Here()) {
    vector_call::Absent("ProposalConcat", site);
}

template <typename T>
__aicore__ inline void ProposalExtract(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t, const int32_t,
                                       sim::Site site = sim::Site::Here()) {
    vector_call::Absent("ProposalExtract", site);
}

// 9.x calls with a scalar on either side.
#define ASCEND_SIM_FLEXIBLE(Name)                                                                                    \
    template <typename T = BinaryDefaultType, bool isSetMask = true,                                                 \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename U, typename S, typename V>                \
    __aicore__ inline void Name(const U&, const S&, const V&, uint64_t[], const uint8_t, const UnaryRepeatParams&) { \
        static_assert(vector_call::kOnThisArchitecture<U>, #Name " is not supported on A2/A3");                      \
    }                                                                                                                \
    template <typename T = BinaryDefaultType, bool isSetMask = true,                                                 \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename U, typename S, typename V>                \
    __aicore__ inline void Name(const U&, const S&, const V&, uint64_t, const uint8_t, const UnaryRepeatParams&) {   \
        static_assert(vector_call::kOnThisArchitecture<U>, #Name " is not supported on A2/A3");                      \
    }                                                                                                                \
    template <typename T = BinaryDefaultType, bool isSetMask = true,                                                 \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename U, typename S, typename V>                \
    __aicore__ inline void Name(const U&, const S&, const V&, const int32_t&) {                                      \
        static_assert(vector_call::kOnThisArchitecture<U>, #Name " is not supported on A2/A3");                      \
    }

ASCEND_SIM_FLEXIBLE(Subs)
ASCEND_SIM_FLEXIBLE(Divs)
ASCEND_SIM_FLEXIBLE(Ands)
ASCEND_SIM_FLEXIBLE(Ors)
#undef ASCEND_SIM_FLEXIBLE

#define ASCEND_SIM_ABSENT(Name, Template, ...)                                                  \
    Template __aicore__ inline void Name(__VA_ARGS__) {                                         \
        static_assert(vector_call::kOnThisArchitecture<T>, #Name " is not supported on A2/A3"); \
    }
#define ASCEND_SIM_TENSOR const LocalTensor<T>&

ASCEND_SIM_ABSENT(Neg, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, const int32_t&)
ASCEND_SIM_ABSENT(Prelu, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, const uint32_t)
ASCEND_SIM_ABSENT(Mull, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR,
                  ASCEND_SIM_TENSOR, const uint32_t)
ASCEND_SIM_ABSENT(AbsSub, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR,
                  const uint32_t)
ASCEND_SIM_ABSENT(FusedAbsSub, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR,
                  const uint32_t)
#define ASCEND_SIM_TWO template <typename T, typename U>
ASCEND_SIM_ABSENT(ExpSub, ASCEND_SIM_TWO, ASCEND_SIM_TENSOR, const LocalTensor<U>&, const LocalTensor<U>&,
                  const uint32_t)
ASCEND_SIM_ABSENT(FusedExpSub, ASCEND_SIM_TWO, ASCEND_SIM_TENSOR, const LocalTensor<U>&, const LocalTensor<U>&,
                  const uint32_t)
#undef ASCEND_SIM_TWO
ASCEND_SIM_ABSENT(Interleave, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR,
                  ASCEND_SIM_TENSOR, const int32_t)
ASCEND_SIM_ABSENT(DeInterleave, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR,
                  ASCEND_SIM_TENSOR, const int32_t)
ASCEND_SIM_ABSENT(DeInterleave, template <typename T>, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR, ASCEND_SIM_TENSOR,
                  const int32_t)
#undef ASCEND_SIM_TENSOR
#undef ASCEND_SIM_ABSENT

template <typename T, RoundMode roundMode>
__aicore__ inline void Truncate(const LocalTensor<T>&, const LocalTensor<T>&, const uint32_t) {
    static_assert(vector_call::kOnThisArchitecture<T>, "Truncate is not supported on A2/A3");
}

#define ASCEND_SIM_MULS_CAST(Name)                                                                       \
    template <typename T0 = BinaryDefaultType, typename T1 = BinaryDefaultType,                          \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename T2, typename T3, typename T4> \
    __aicore__ inline void Name(const T2&, const T3&, const T4&, const uint32_t) {                       \
        static_assert(vector_call::kOnThisArchitecture<T2>, #Name " is not supported on A2/A3");         \
    }

ASCEND_SIM_MULS_CAST(MulsCast)
ASCEND_SIM_MULS_CAST(FusedMulsCast)
#undef ASCEND_SIM_MULS_CAST

}  // namespace AscendC
