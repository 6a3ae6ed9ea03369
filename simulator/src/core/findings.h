// SPDX-License-Identifier: Apache-2.0
// Findings of one launch: collected from several host threads, one entry per distinct pair of call sites.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "machine/call.h"
#include "run/launch.h"

namespace ascend_attention::sim {

class FindingLog {
public:
    // `key` identifies a finding up to repetition ("race|a.cpp:3|b.cpp:9|UB"); only the first of a key is kept.
    void Add(Finding finding, const std::string& key);
    // All of them; when some were dropped, a last entry says how many.
    std::vector<Finding> Take();

private:
    // A broken loop can produce millions of distinct findings; the first ones are the useful ones.
    static constexpr std::size_t kLimit = 200;
    std::mutex mutex_;
    std::size_t dropped_ = 0;
    std::set<std::string> keys_;
    std::vector<Finding> findings_;
};

const char* NameOf(Space space);
ASCEND_SIM_API const char* NameOf(Pipe pipe);
const char* NameOf(DType dtype);
// "Add (kernel.cpp:42)"; the directory is dropped, it only makes reports wide.
std::string Describe(const char* name, const Site& site);
std::string Describe(const Call& call);
ASCEND_SIM_API std::string BaseName(const char* file);
// Identifies a line of code in the key of a finding.
std::string SiteKey(const Site& site);

// Unwinds the fiber of a core that cannot go on. The finding is already in the log. Not derived from std::exception,
// so that a handler in device code for its own exceptions does not swallow it.
struct CoreEnd {};

}  // namespace ascend_attention::sim
