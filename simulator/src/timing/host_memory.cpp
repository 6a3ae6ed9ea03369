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
std::uint64_t NumberIn(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? value : kUnlimited;
}

// The number behind a word, in a file such as /proc/meminfo; `missing` without it.
std::uint64_t FieldOf(const std::string& path, const std::string& name, std::uint64_t missing) {
    std::ifstream file(path);
    for (std::string word; file >> word;) {
        std::uint64_t value = 0;
        if (word == name && file >> value) {
            return value;
        }
    }
    return missing;
}

std::uint64_t Left(std::uint64_t limit, std::uint64_t used) {
    if (limit == kUnlimited || used == kUnlimited) {
        return kUnlimited;
    }
    return limit > used ? limit - used : 0;
}

// What a control group has left. Pages of files that nobody has used lately count as used: the system takes them back
// before anybody has to swap, and a group that has read or written large files is full of them.
std::uint64_t LeftOfGroup(const std::string& limit, const std::string& used, const std::string& statistics,
                          const char* reclaimable) {
    const std::uint64_t taken = NumberIn(used);
    const std::uint64_t pages = FieldOf(statistics, reclaimable, 0);
    return Left(NumberIn(limit), taken == kUnlimited ? taken : taken - std::min(taken, pages));
}

}  // namespace

std::uint64_t AvailableHostMemory(const std::string& root) {
    constexpr std::uint64_t kKib = 1024;
    const std::uint64_t free_kib = FieldOf(root + "/proc/meminfo", "MemAvailable:", kUnlimited);
    std::uint64_t available = free_kib == kUnlimited ? kUnlimited : free_kib * kKib;
    const std::string group = root + "/sys/fs/cgroup/";
    available = std::min(
        available, LeftOfGroup(group + "memory.max", group + "memory.current", group + "memory.stat", "inactive_file"));
    available =
        std::min(available, LeftOfGroup(group + "memory/memory.limit_in_bytes", group + "memory/memory.usage_in_bytes",
                                        group + "memory/memory.stat", "total_inactive_file"));
    rlimit address_space{};
    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
        const std::uint64_t size_kib = FieldOf(root + "/proc/self/status", "VmSize:", 0);
        available = std::min<std::uint64_t>(available, Left(address_space.rlim_cur, size_kib * kKib));
    }
    return available;
}

}  // namespace ascend_attention::sim
