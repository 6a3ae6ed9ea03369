// SPDX-License-Identifier: Apache-2.0
// The atomic modes of stores to global memory.
#pragma once

#include <cstdint>

#include "ascendc/tensor.h"
#include "machine/move_calls.h"

// 8.x names of AscendC::AtomicDtype and AtomicOp.
enum atomic_type_t { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum atomic_op_t { ATOMIC_SUM = 0 };

namespace AscendC {

enum class AtomicDtype { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM = 0 };

template <typename T>
__aicore__ inline void SetAtomicType(sim::Site site = sim::Site::Here()) {
    sim::SetAtomic("SetAtomicType", sim::AtomicRequest::kType, DTypeOf<T>(), site);
}

template <typename T>
__aicore__ inline void SetAtomicAdd(sim::Site site = sim::Site::Here()) {
    sim::SetAtomic("SetAtomicAdd", sim::AtomicRequest::kAdd, DTypeOf<T>(), site);
}

template <typename T>
__aicore__ inline void SetAtomicMax(sim::Site site = sim::Site::Here()) {
    sim::SetAtomic("SetAtomicMax", sim::AtomicRequest::kMax, DTypeOf<T>(), site);
}

template <typename T>
__aicore__ inline void SetAtomicMin(sim::Site site = sim::Site::Here()) {
    sim::SetAtomic("SetAtomicMin", sim::AtomicRequest::kMin, DTypeOf<T>(), site);
}

__aicore__ inline void SetAtomicNone(sim::Site site = sim::Site::Here()) {
    sim::SetAtomic("SetAtomicNone", sim::AtomicRequest::kNone, sim::DType::kOther, site);
}

// 9.x name of SetAtomicNone.
__aicore__ inline void DisableDmaAtomic(sim::Site site = sim::Site::Here()) {
    sim::SetAtomic("DisableDmaAtomic", sim::AtomicRequest::kNone, sim::DType::kOther, site);
}

template <AtomicDtype type, AtomicOp op>
__aicore__ inline void SetStoreAtomicConfig(sim::Site site = sim::Site::Here()) {
    sim::SetStoreAtomic(static_cast<uint16_t>(type), static_cast<uint16_t>(op), site);
}

template <atomic_type_t type, atomic_op_t op>
__aicore__ inline void SetStoreAtomicConfig(sim::Site site = sim::Site::Here()) {
    sim::SetStoreAtomic(static_cast<uint16_t>(type), static_cast<uint16_t>(op), site);
}

__aicore__ inline void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp,
                                            sim::Site site = sim::Site::Here()) {
    sim::GetStoreAtomic(&atomicType, &atomicOp, site);
}

}  // namespace AscendC
