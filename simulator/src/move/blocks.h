// SPDX-License-Identifier: Apache-2.0
// The copy that most forms of DataCopy come down to: blocks of bytes at regular distances.
#pragma once

#include <cstdint>

#include "core/access.h"

namespace ascend_attention::sim {

struct Blocks {
    std::uint64_t bytes;
    std::uint64_t count;
    std::uint64_t source_stride;
    std::uint64_t target_stride;
};

// Declares, copies (combining under an atomic mode when the target is global) and carries what is undefined.
void MoveBlocks(Access& access, const Operand& target, const Operand& source, const Blocks& blocks);

}  // namespace ascend_attention::sim
