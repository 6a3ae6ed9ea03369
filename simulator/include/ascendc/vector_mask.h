// SPDX-License-Identifier: Apache-2.0
// The mask register and its two modes: state of the core, set by the scalar unit.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {

__aicore__ inline void SetMaskNorm(sim::Site site = sim::Site::Here()) {
    sim::SetMaskMode(sim::Call{"SetMaskNorm", sim::Pipe::kScalar, site}, false);
}

__aicore__ inline void SetMaskCount(sim::Site site = sim::Site::Here()) {
    sim::SetMaskMode(sim::Call{"SetMaskCount", sim::Pipe::kScalar, site}, true);
}

template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ inline void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow,
                                     sim::Site site = sim::Site::Here()) {
    sim::SetMaskBits(sim::Call{"SetVectorMask", sim::Pipe::kScalar, site}, maskLow, maskHigh);
}

template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ inline void SetVectorMask(int32_t len, sim::Site site = sim::Site::Here()) {
    sim::SetMaskLanes(sim::Call{"SetVectorMask", sim::Pipe::kScalar, site}, len,
                      static_cast<uint32_t>(sizeof(PrimT<T>)), mode == MaskMode::COUNTER);
}

__aicore__ inline void ResetMask(sim::Site site = sim::Site::Here()) {
    sim::ResetMaskBits(sim::Call{"ResetMask", sim::Pipe::kScalar, site});
}

}  // namespace AscendC
