// SPDX-License-Identifier: Apache-2.0
// What Fixpipe does to values on their way out of L0C: relu, scales, rounding, saturation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/access.h"
#include "machine/cube_calls.h"

namespace ascend_attention::sim {

// One scale per column instead of one for all.
bool IsVector(Quant quant);
bool HasScale(Quant quant);
// Refuses combinations of types and conversion that architecture 2201 does not have.
void RequireFixpipeTypes(Access& access, const FixpipeCall& move);

class FixpipeConverter {
public:
    // Reads and checks the scales.
    FixpipeConverter(Access& access, const FixpipeCall& move);

    // True when bytes arrive as they are.
    bool keeps() const { return move_.quant == Quant::kNone && !move_.relu; }

    // `values`: nSize floats or integers, one row; may be changed.
    void Convert(std::byte* target, float* values) const;

private:
    // A scale as the machine decodes it from 64 bits.
    struct Scale {
        float factor = 0;
        std::uint32_t shift = 0;  // 0: none
        std::int32_t offset = 0;
        bool is_signed = false;
    };

    static Scale Decode(std::uint64_t config);
    void Rectify(float* values, std::size_t count) const;
    // Integers become floats, all are multiplied by their scale.
    void ScaleRow(float* values, std::size_t count) const;
    void ToBytes(std::byte* target, const float* values, std::size_t count) const;

    const FixpipeCall& move_;
    std::vector<Scale> scales_;  // one per column
};

}  // namespace ascend_attention::sim
