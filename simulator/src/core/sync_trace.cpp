// SPDX-License-Identifier: Apache-2.0
#include "core/sync_trace.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "core/core.h"

namespace ascend_attention::sim {

namespace {

auto Key(const SyncCall& call) {
    return std::tie(call.file, call.line, call.name, call.core, call.source, call.target, call.mode, call.id,
                    call.framework);
}

}  // namespace

bool SyncTrace::Before::operator()(const SyncPoint& a, const SyncPoint& b) const {
    // Names are literals of the machine. The same file may have several literals, one per device library and template:
    // they become one in AddTo.
    const auto key = [](const SyncPoint& point) {
        return std::make_tuple(point.site.line, point.id, point.source, point.target, point.mode, point.framework,
                               reinterpret_cast<std::uintptr_t>(point.name),
                               reinterpret_cast<std::uintptr_t>(point.site.file));
    };
    return key(a) < key(b);
}

SyncCall SyncTrace::Describe(const SyncPoint& point) const {
    return SyncCall{point.name, type_,           point.source,    point.target,    point.mode,
                    point.id,   point.framework, point.site.file, point.site.line, 0};
}

bool SyncTrace::Ignores(const SyncPoint& point) {
    const auto [found, fresh] = entries_.try_emplace(point);
    Entry& entry = found->second;
    if (fresh) {
        const SyncCall call = Describe(point);
        entry.ignored = std::any_of(ignored_.begin(), ignored_.end(),
                                    [&call](const SyncCall& other) { return Key(other) == Key(call); });
    }
    ++entry.count;
    return entry.ignored;
}

void SyncTrace::AddTo(std::vector<SyncCall>& calls) const {
    for (const auto& [point, entry] : entries_) {
        SyncCall call = Describe(point);
        call.count = entry.count;
        const auto place = std::lower_bound(calls.begin(), calls.end(), call,
                                            [](const SyncCall& a, const SyncCall& b) { return Key(a) < Key(b); });
        if (place != calls.end() && Key(*place) == Key(call)) {
            place->count += call.count;
        } else {
            calls.insert(place, std::move(call));
        }
    }
}

bool TraceIgnores(Core& core, const SyncPoint& point) {
    if (core.Unwinding() || !core.sync_trace()->Ignores(point)) {
        return false;
    }
    core.CountInstruction(Call{point.name, Pipe::kScalar, point.site});
    return true;
}

}  // namespace ascend_attention::sim
