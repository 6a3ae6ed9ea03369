// SPDX-License-Identifier: Apache-2.0
// What a replay has still to do, in order of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "machine/call.h"

namespace ascend_attention::sim {

// A pipe of a core that goes on at a time.
struct Appointment {
    double time = 0;
    int core = 0;
    int pipe = 0;
};

// Sorted, with room at both ends. Appointments of one time come in the order they were made. Times are never negative.
// A pipe that has just worked is mostly one of the last to go on: a new appointment finds its place after a few looks
// from the end, where a heap takes as many steps as it is deep.
class Agenda {
public:
    bool empty() const { return begin_ == end_; }

    Appointment Take() {
        const Appointment first = Next();
        ++begin_;
        return first;
    }

    // Who comes next, as things stand. There is somebody.
    Appointment Next() const {
        return Appointment{TimeOf(times_[begin_]), static_cast<int>(who_[begin_] / kPipes),
                           static_cast<int>(who_[begin_] % kPipes)};
    }

    void Add(const Appointment& appointment) {
        if (end_ == times_.size()) {
            MakeRoom();
        }
        const std::uint64_t time = BitsOf(appointment.time);
        std::size_t at = PlaceOf(time);
        if (at == end_) {
            ++end_;
        } else if (begin_ > 0 && at - begin_ < end_ - at) {
            MoveDown(begin_, at);
            --begin_;
            --at;
        } else {
            MoveUp(at, end_);
            ++end_;
        }
        times_[at] = time;
        who_[at] = static_cast<std::uint32_t>(appointment.core) * kPipes + static_cast<std::uint32_t>(appointment.pipe);
    }

    // Whether an appointment for `time`, made now, would come next.
    bool WouldBeNext(double time) const { return empty() || BitsOf(time) < times_[begin_]; }

private:
    static constexpr std::uint32_t kPipes = 8;
    static_assert(kPipeCount <= kPipes);

    static std::uint64_t BitsOf(double time) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &time, sizeof bits);
        return bits;
    }
    static double TimeOf(std::uint64_t bits) {
        double time = 0;
        std::memcpy(&time, &bits, sizeof time);
        return time;
    }

    // After all that are not later.
    std::size_t PlaceOf(std::uint64_t time) const {
        constexpr int kLooks = 8;
        const std::uint64_t* const times = times_.data();
        std::size_t at = end_;
        for (int look = 0; look < kLooks; ++look, --at) {
            if (at == begin_ || times[at - 1] <= time) {
                return at;
            }
        }
        return static_cast<std::size_t>(std::upper_bound(times + begin_, times + at, time) - times);
    }

    void MoveUp(std::size_t from, std::size_t to) {
        std::memmove(&times_[from] + 1, &times_[from], (to - from) * sizeof times_[0]);
        std::memmove(&who_[from] + 1, &who_[from], (to - from) * sizeof who_[0]);
    }
    void MoveDown(std::size_t from, std::size_t to) {
        std::memmove(&times_[from] - 1, &times_[from], (to - from) * sizeof times_[0]);
        std::memmove(&who_[from] - 1, &who_[from], (to - from) * sizeof who_[0]);
    }

    // At the end: to the front, or in more memory when there is not much in front either.
    void MakeRoom() {
        constexpr std::size_t kFirst = 256;
        const std::size_t size = end_ - begin_;
        if (size > 0) {
            std::memmove(times_.data(), times_.data() + begin_, size * sizeof times_[0]);
            std::memmove(who_.data(), who_.data() + begin_, size * sizeof who_[0]);
        }
        begin_ = 0;
        end_ = size;
        if (times_.size() < 4 * size || times_.empty()) {
            times_.resize(std::max(kFirst, 2 * times_.size()));
            who_.resize(times_.size());
        }
    }

    std::vector<std::uint64_t> times_;  // the bits of a double that is not negative sort as it does
    std::vector<std::uint32_t> who_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace ascend_attention::sim
