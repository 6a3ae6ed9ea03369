// SPDX-License-Identifier: Apache-2.0
// Stores to global memory: plain, or combined with what is there while SetAtomicAdd/Max/Min is in force. Atomic mode
// applies to the MTE3 and Fixpipe paths alike, and never to a store into L1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/access.h"
#include "core/state.h"

namespace ascend_attention::sim {

class GlobalStore {
public:
    // Declares the write, and with an atomic mode the read, of `region`. Checks that the mode's type is the operand's.
    GlobalStore(Access& access, const Operand& target, const char* name, const Region& region);

    // Declares more of the same target.
    void Extend(Access& access, const Region& region);

    // Stores `bytes` at `offset` from the operand's address.
    void Put(std::uint64_t offset, const std::byte* source, std::uint64_t bytes) const {
        if (atomic()) {
            Combine(offset, source, bytes);
        } else {
            std::memcpy(target_ + offset, source, bytes);
        }
    }
    bool atomic() const { return state_.mode != AtomicMode::kNone; }

private:
    void Combine(std::uint64_t offset, const std::byte* source, std::uint64_t bytes) const;

    AtomicState state_;
    Operand operand_;
    const char* name_;
    std::byte* target_ = nullptr;
};

}  // namespace ascend_attention::sim
