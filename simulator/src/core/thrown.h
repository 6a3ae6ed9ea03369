// SPDX-License-Identifier: Apache-2.0
// Where the exceptions of one core were thrown. That has to be written down while the stack below the throw still
// stands: once an exception is caught, nothing tells it any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ascend_attention::sim {

struct LaunchCode;

struct Throw {
    static constexpr std::size_t kMostCalls = 16;

    const void* exception = nullptr;  // as the unwinder knows it
    // Calls in device code at the time, innermost first, the throw itself or the call of what threw.
    std::array<std::uint64_t, kMostCalls> calls{};
    std::size_t call_count = 0;
    std::uint64_t again = 0;  // where a handler threw it on, 0 when none did
};

class ThrowLog {
public:
    // `exception` is on its way up the stack, thrown or thrown again; `watcher` is in the last function that watches.
    void Thrown(const LaunchCode& code, const void* exception, const void* watcher);
    // The exception that the running code handles; null when nothing is known about it.
    const Throw* Handled();

private:
    Throw* Find(const void* exception);

    // Several can be alive: a handler may throw, catch and then throw its own on. Of more, the oldest are forgotten.
    std::array<Throw, 8> throws_{};
    std::size_t next_ = 0;
};

}  // namespace ascend_attention::sim
