// SPDX-License-Identifier: Apache-2.0
#include "move/global_store.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/core.h"
#include "machine/move_calls.h"
#include "numerics/half.h"

namespace ascend_attention::sim {

namespace {

// Host threads run different blocks; the sum of two atomic stores must not lose either.
std::mutex& AtomicMutex() {
    static std::mutex mutex;
    return mutex;
}

float CombineValues(AtomicMode mode, float old_value, float new_value) {
    if (mode == AtomicMode::kAdd) {
        return old_value + new_value;
    }
    return mode == AtomicMode::kMax ? std::max(old_value, new_value) : std::min(old_value, new_value);
}

template <typename T>
T CombineValues(AtomicMode mode, T old_value, T new_value) {
    if (mode == AtomicMode::kAdd) {
        // Integer arithmetic of the machine saturates.
        const std::int64_t sum = std::int64_t{old_value} + std::int64_t{new_value};
        return static_cast<T>(
            std::clamp<std::int64_t>(sum, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    return mode == AtomicMode::kMax ? std::max(old_value, new_value) : std::min(old_value, new_value);
}

template <typename T, typename Function>
void CombineElements(std::byte* target, const std::byte* source, std::uint64_t bytes, Function function) {
    for (std::uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
        T old_value;
        T new_value;
        std::memcpy(&old_value, target + at, sizeof(T));
        std::memcpy(&new_value, source + at, sizeof(T));
        const T result = function(old_value, new_value);
        std::memcpy(target + at, &result, sizeof(T));
    }
}

void CombineBytes(const AtomicState& state, std::byte* target, const std::byte* source, std::uint64_t bytes) {
    const AtomicMode mode = state.mode;
    const auto combine = [mode](auto old_value, auto new_value) { return CombineValues(mode, old_value, new_value); };
    switch (state.dtype) {
        case DType::kFloat32:
            CombineElements<float>(target, source, bytes, combine);
            break;
        case DType::kFloat16:
            CombineElements<std::uint16_t>(target, source, bytes, [mode](std::uint16_t a, std::uint16_t b) {
                return FloatToHalf(CombineValues(mode, HalfToFloat(a), HalfToFloat(b)));
            });
            break;
        case DType::kBfloat16:
            CombineElements<std::uint16_t>(target, source, bytes, [mode](std::uint16_t a, std::uint16_t b) {
                return FloatToBfloat(CombineValues(mode, BfloatToFloat(a), BfloatToFloat(b)));
            });
            break;
        case DType::kInt32:
            CombineElements<std::int32_t>(target, source, bytes, combine);
            break;
        case DType::kInt16:
            CombineElements<std::int16_t>(target, source, bytes, combine);
            break;
        default:
            CombineElements<std::int8_t>(target, source, bytes, combine);
            break;
    }
}

}  // namespace

GlobalStore::GlobalStore(Access& access, const Operand& target, const char* name, const Region& region)
    : state_(target.space == Space::kGlobal ? access.core().state.atomic : AtomicState{}),
      operand_(target),
      name_(name) {
    if (atomic()) {
        access.Require(target.dtype == state_.dtype, "dtype of the store", static_cast<int>(target.dtype),
                       "the type given to SetAtomicAdd/Max/Min while an atomic mode is in force");
    }
    Extend(access, region);
}

void GlobalStore::Extend(Access& access, const Region& region) {
    if (atomic()) {
        access.Reads(operand_, name_, region);
    }
    target_ = access.Writes(operand_, name_, region);
}

void GlobalStore::Combine(std::uint64_t offset, const std::byte* source, std::uint64_t bytes) const {
    const std::lock_guard<std::mutex> lock(AtomicMutex());
    CombineBytes(state_, target_ + offset, source, bytes);
}

void SetAtomic(const char* name, AtomicRequest request, DType dtype, const Site& site) {
    Core& core = CurrentCore();
    const Call call{name, Pipe::kScalar, site};
    Access access(core, call);
    const bool supported = request == AtomicRequest::kNone || dtype == DType::kFloat32 || dtype == DType::kFloat16 ||
                           dtype == DType::kBfloat16 || dtype == DType::kInt32 || dtype == DType::kInt16 ||
                           dtype == DType::kInt8;
    access.Require(supported, "T", static_cast<int>(dtype), "int8_t, int16_t, half, bfloat16_t, int32_t, float");
    AtomicMode mode = static_cast<AtomicMode>(request);
    if (request == AtomicRequest::kType) {
        mode = core.state.atomic.mode == AtomicMode::kNone ? AtomicMode::kAdd : core.state.atomic.mode;
    }
    core.state.atomic = AtomicState{mode, dtype};
}

void SetStoreAtomic(std::uint16_t type, std::uint16_t operation, const Site& site) {
    const Call call{"SetStoreAtomicConfig", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.Require(type <= 6, "type", type, "0..6");
    access.Require(operation == 0, "op", operation, "0");
    access.core().state.store_atomic = StoreAtomicState{type, operation};
}

void GetStoreAtomic(std::uint16_t* type, std::uint16_t* operation, const Site& site) {
    const Call call{"GetStoreAtomicConfig", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    *type = access.core().state.store_atomic.type;
    *operation = access.core().state.store_atomic.operation;
}

}  // namespace ascend_attention::sim
