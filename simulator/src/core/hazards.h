// SPDX-License-Identifier: Apache-2.0
// What a pipe orders by itself between two of its own instructions that touch the same bytes.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

enum class Hazard : std::uint8_t { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
enum class PipeOrder : std::uint8_t { kOrdered, kNeedsBarrier, kUndocumented };

struct HazardRule {
    PipeOrder order;
    const char* source;
};

HazardRule SamePipeRule(Pipe pipe, Hazard hazard);
const char* NameOf(Hazard hazard);

}  // namespace ascend_attention::sim
