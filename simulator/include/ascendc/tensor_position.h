// SPDX-License-Identifier: Apache-2.0
// Logical positions of Ascend C and the memory of architecture 2201 that each one means.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace AscendC {

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX,
};
using QuePosition = TPosition;

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

constexpr Hardware GetPhyType(TPosition position) {
    switch (position) {
        case TPosition::GM:
        case TPosition::CO2:
            return Hardware::GM;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::SHM:
        case TPosition::TSCM:
            return Hardware::L1;
        case TPosition::A2:
            return Hardware::L0A;
        case TPosition::B2:
            return Hardware::L0B;
        case TPosition::C2:
            return Hardware::BIAS;
        case TPosition::CO1:
            return Hardware::L0C;
        case TPosition::C2PIPE2GM:
            return Hardware::FIXBUF;
        default:
            return Hardware::UB;
    }
}

constexpr ascend_attention::sim::Space SpaceOf(Hardware hardware) {
    using ascend_attention::sim::Space;
    switch (hardware) {
        case Hardware::GM:
            return Space::kGlobal;
        case Hardware::L1:
            return Space::kL1;
        case Hardware::L0A:
            return Space::kL0A;
        case Hardware::L0B:
            return Space::kL0B;
        case Hardware::L0C:
            return Space::kL0C;
        case Hardware::BIAS:
            return Space::kBias;
        case Hardware::FIXBUF:
            return Space::kFixpipe;
        default:
            return Space::kUb;
    }
}

constexpr ascend_attention::sim::Space SpaceOf(TPosition position) { return SpaceOf(GetPhyType(position)); }

// Where the buffers of a queue lie: at its destination, except when that is global memory.
constexpr TPosition GetPosition(TPosition source, TPosition destination) {
    return destination == TPosition::GM || destination == TPosition::CO2 ? source : destination;
}

}  // namespace AscendC
