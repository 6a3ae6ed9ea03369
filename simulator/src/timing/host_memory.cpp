// SPDX-License-Identifier: Apache-2.0
#include "timing/host_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The number in a file that holds nothing else; unlimited for "max" or without the file.
std::uint64_t NumberIn(const char* path) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? value : kUnlimited;
}

// A field of a file like /proc/meminfo, in bytes.
std::uint64_t FieldOf(const char* path, const std::string& name) {
    std::ifstream file(path);
    for (std::string word; file >> word;) {
        std::uint64_t kib = 0;
        if (word == name && file >> kib) {
            return kib * 1024;
        }
    }
    return kUnlimited;
}

std::uint64_t Left(std::uint64_t limit, std::uint64_t used) {
    if (limit == kUnlimited || used == kUnlimited) {
        return kUnlimited;
    }
    return limit > used ? limit - used : 0;
}

}  // namespace

std::uint64_t AvailableHostMemory() {
    std::uint64_t available = FieldOf("/proc/meminfo", "MemAvailable:");
    available =
        std::min(available, Left(NumberIn("/sys/fs/cgroup/memory.max"), NumberIn("/sys/fs/cgroup/memory.current")));
    available = std::min(available, Left(NumberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                                         NumberIn("/sys/fs/cgroup/memory/memory.usage_in_bytes")));
    rlimit address_space{};
    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
        available = std::min(available, Left(address_space.rlim_cur, FieldOf("/proc/self/status", "VmSize:")));
    }
    return available;
}

}  // namespace ascend_attention::sim
