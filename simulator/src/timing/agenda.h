// SPDX-License-Identifier: Apache-2.0
// What a replay has still to do, in order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ascend_attention::sim {

// A pipe of a core that goes on at a time.
struct Appointment {
    double time = 0;
    int core = 0;
    int pipe = 0;
};

// A heap. Appointments of one time come in the order they were made. Times are never negative.
class Agenda {
public:
    bool empty() {
        Close();
        return entries_.empty();
    }

    // Its place is kept free until something else is asked for: the pipe that goes on mostly makes its next appointment
    // first, and one pass through the heap does for both.
    Appointment Take() {
        Close();
        open_ = true;
        const Entry& first = entries_.front();
        const auto who = static_cast<int>(first.order_and_who & (kWho - 1));
        return Appointment{TimeOf(first), who / kPipes, who % kPipes};
    }

    void Add(const Appointment& appointment) {
        const auto who = static_cast<std::uint64_t>(appointment.core * kPipes + appointment.pipe);
        const Entry entry{BitsOf(appointment.time), made_++ * kWho + who};
        if (open_) {
            open_ = false;
            Sink(entry);
            return;
        }
        entries_.push_back(entry);
        Rise(entry, entries_.size() - 1);
    }

    // Whether an appointment for `time`, made now, would come next.
    bool WouldBeNext(double time) const {
        const std::uint64_t bits = BitsOf(time);
        const auto after = [&](std::size_t at) { return at >= entries_.size() || bits < entries_[at].time; };
        return open_ ? after(1) && after(2) : after(0);
    }

private:
    static constexpr int kPipes = 8;
    static constexpr std::uint64_t kWho = 1U << 16;  // 48 bits are left to number the appointments

    struct Entry {
        std::uint64_t time;  // the bits of a double that is not negative sort as it does
        std::uint64_t order_and_who;
    };
    static std::uint64_t BitsOf(double time) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &time, sizeof bits);
        return bits;
    }
    static double TimeOf(const Entry& entry) {
        double time = 0;
        std::memcpy(&time, &entry.time, sizeof time);
        return time;
    }
    // Without a branch: which of two comes first is a toss of a coin.
    static bool Before(const Entry& a, const Entry& b) {
        const auto key = [](const Entry& entry) {
            return static_cast<unsigned __int128>(entry.time) << 64 | entry.order_and_who;
        };
        return key(a) < key(b);
    }

    void Close() {
        if (!open_) {
            return;
        }
        open_ = false;
        const Entry last = entries_.back();
        entries_.pop_back();
        if (!entries_.empty()) {
            Sink(last);
        }
    }

    // Fills the place at the top: those below move up, and the entry comes in at the bottom. It mostly stays there,
    // since a pipe that has just worked is the last one to go on.
    void Sink(const Entry& entry) {
        Entry* const entries = entries_.data();
        const std::size_t size = entries_.size();
        std::size_t at = 0;
        std::size_t child = 1;
        for (; child + 1 < size; child = 2 * at + 1) {
            child += Before(entries[child + 1], entries[child]) ? 1 : 0;
            entries[at] = entries[child];
            at = child;
        }
        if (child < size) {
            entries[at] = entries[child];
            at = child;
        }
        Rise(entry, at);
    }

    // `at` is free.
    void Rise(const Entry& entry, std::size_t at) {
        Entry* const entries = entries_.data();
        while (at > 0 && Before(entry, entries[(at - 1) / 2])) {
            entries[at] = entries[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        entries[at] = entry;
    }

    std::vector<Entry> entries_;
    std::uint64_t made_ = 0;
    bool open_ = false;  // the first entry has been taken
};

}  // namespace ascend_attention::sim
