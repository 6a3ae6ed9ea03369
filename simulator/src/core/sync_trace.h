// SPDX-License-Identifier: Apache-2.0
// The synchronisation calls of one core: which there were, how often, and which of them the launch ignores. Exists only
// when a launch asks for one of the two.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/core.h"
#include "machine/call.h"
#include "run/launch.h"

namespace ascend_attention::sim {

// A SyncCall as the core meets it: nothing is copied on the way of a call.
struct SyncPoint {
    const char* name;
    Pipe source;
    Pipe target;
    int mode;
    int id;
    bool framework;
    Site site;
};

class SyncTrace {
public:
    // `ignored` outlives the trace.
    SyncTrace(CoreType type, const std::vector<SyncCall>& ignored) : type_(type), ignored_(ignored) {}

    // Counts the call; true when it must have no effect.
    bool Ignores(const SyncPoint& point);
    // Adds this core's calls to `calls`, equal ones to one another.
    void AddTo(std::vector<SyncCall>& calls) const;

private:
    struct Before {
        bool operator()(const SyncPoint& a, const SyncPoint& b) const;
    };
    struct Entry {
        std::uint64_t count = 0;
        bool ignored = false;
    };
    SyncCall Describe(const SyncPoint& point) const;

    CoreType type_;
    const std::vector<SyncCall>& ignored_;
    std::map<SyncPoint, Entry, Before> entries_;
};

bool TraceIgnores(Core& core, const SyncPoint& point);

// Whether the launch ignores this call. If so it has been counted as an instruction, and the caller is done. Inline, so
// that launches without a trace pay for one test.
inline bool IgnoresSync(Core& core, const SyncPoint& point) {
    return core.sync_trace() != nullptr && TraceIgnores(core, point);
}

}  // namespace ascend_attention::sim
