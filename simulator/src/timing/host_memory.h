// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ascend_attention::sim {

// Bytes that this process could still take without anybody having to swap or to die: what the system and its control
// group have left, and its own limit of address space. The largest number when nobody says. `root`: where /proc and
// /sys lie, for tests.
std::uint64_t AvailableHostMemory(const std::string& root = "");

}  // namespace ascend_attention::sim
