// SPDX-License-Identifier: Apache-2.0
// The registered buffers of a launch, looked up by host address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/launch.h"

namespace ascend_attention::sim {

struct GlobalRegion {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    // Where the timing model has it: buffers follow each other in the order of the launch, so runs are alike.
    std::uint64_t replay_base = 0;
    int index = 0;  // position in GlobalMemory::regions(), and in the checker's shadows
    bool writable = false;
    bool initialised = true;
    bool output = false;
    std::string name;
};

class GlobalMemory {
public:
    // Poisons the uninitialised buffers. Throws std::invalid_argument when two buffers overlap and one is writable.
    explicit GlobalMemory(const std::vector<GlobalBuffer>& buffers);

    // The region that holds `address`, or null.
    const GlobalRegion* Find(std::uint64_t address) const;
    const std::vector<GlobalRegion>& regions() const { return regions_; }
    // For a message: the region just below the address, so that an overrun names the buffer it ran out of.
    std::string DescribeNearest(std::uint64_t address) const;

private:
    std::vector<GlobalRegion> regions_;  // sorted by begin
};

}  // namespace ascend_attention::sim
