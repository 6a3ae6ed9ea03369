// SPDX-License-Identifier: Apache-2.0
// Vector clocks of checked mode: one component per pipe of every core. A component counts the instructions of that
// pipe; "clock[c] >= t" means that instruction t of pipe c has completed before anything that carries the clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/call.h"

namespace ascend_attention::sim {

using Tick = std::uint32_t;

class Clock {
public:
    Clock() = default;
    explicit Clock(std::size_t components) : ticks_(components, 0) {}

    Tick operator[](std::size_t component) const { return ticks_[component]; }
    void Raise(std::size_t component, Tick tick) { ticks_[component] = std::max(ticks_[component], tick); }
    const Tick* data() const { return ticks_.data(); }
    bool empty() const { return ticks_.empty(); }

    void Join(const Clock& other) {
        if (ticks_.empty()) {
            ticks_ = other.ticks_;
            return;
        }
        Tick* mine = ticks_.data();
        const Tick* theirs = other.ticks_.data();
        const std::size_t count = ticks_.size();
        for (std::size_t i = 0; i < count; ++i) {
            mine[i] = std::max(mine[i], theirs[i]);
        }
    }

    // Keeps the smaller value of each component here and leaves the larger one in `other`.
    void KeepSmaller(Clock& other) {
        for (std::size_t i = 0; i < ticks_.size(); ++i) {
            const Tick smaller = std::min(ticks_[i], other.ticks_[i]);
            other.ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
            ticks_[i] = smaller;
        }
    }

private:
    std::vector<Tick> ticks_;
};

// Sets that a counter has not given to a wait yet. A counter does not tell which set it counted: after k waits at
// least k sets have happened, so what a wait may conclude is, per component, the smallest of what is pending. When one
// pipe makes all sets its clocks only grow, and this is first-in first-out; otherwise it is the meet.
class PendingClocks {
public:
    void Push(const Clock& clock) { pending_.push_back(clock); }
    bool empty() const { return pending_.empty(); }
    std::size_t size() const { return pending_.size(); }
    Clock Pop() {
        Clock smallest = std::move(pending_.front());
        pending_.erase(pending_.begin());
        for (Clock& other : pending_) {
            smallest.KeepSmaller(other);
        }
        return smallest;
    }

private:
    std::vector<Clock> pending_;
};

}  // namespace ascend_attention::sim
