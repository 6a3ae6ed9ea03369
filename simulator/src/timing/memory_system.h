// SPDX-License-Identifier: Apache-2.0
// L2 and HBM as the replay sees them: which 512-byte lines are in L2, and how much of the shared bandwidth is taken.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "timing/event_stream.h"

namespace ascend_attention::sim {

struct MemoryFigures {
    double l2_read = 0;  // bytes per cycle of the whole device
    double l2_write = 0;
    double hbm = 0;
    std::uint64_t l2_bytes = 0;
};

struct MemoryTraffic {
    std::uint64_t l2_read = 0;
    std::uint64_t l2_written = 0;
    std::uint64_t hbm_read = 0;
    std::uint64_t hbm_written = 0;  // lines that became dirty: each goes back once it has to make room
};

class MemorySystem {
public:
    explicit MemorySystem(const MemoryFigures& figures);

    struct Answer {
        double done = 0;      // when the shared part has moved all bytes; 0 when there are none
        bool missed = false;  // at least one line came from HBM
    };
    // A transfer that starts now. Calls must come in order of time.
    Answer Move(const Transfer& transfer, double now);
    const MemoryTraffic& traffic() const { return traffic_; }

private:
    Answer MoveAround(const Transfer& transfer, double now);

    static constexpr std::uint64_t kLineBytes = 512;
    static constexpr std::size_t kWays = 16;

    // A line in L2: its number + 1, and above that whether it is dirty. 0 is empty. 31 bits are a terabyte of lines.
    using Line = std::uint32_t;
    static constexpr Line kDirty = 0x80000000U;

    // A set is one cache line of the host, its lines in the order of their last use. Memory that nobody touches is
    // never taken from the host: most launches see a small part of L2.
    struct alignas(64) Set {
        Line lines[kWays];
    };
    static_assert(sizeof(Set) == 64);
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    // A bandwidth that everybody shares: bytes are served in the order of their start.
    struct Server {
        double rate = 0;
        double free_at = 0;
        double Serve(double now, double bytes) {
            free_at = (free_at > now ? free_at : now) + bytes / rate;
            return free_at;
        }
    };

    std::uint64_t SetOf(std::uint64_t line) const;
    // Whether the line was there; it is afterwards.
    bool Touch(std::uint64_t line, bool write);
    void TouchRow(std::uint64_t address, std::uint64_t bytes, bool write, std::uint64_t& missed_bytes);

    std::uint64_t set_count_ = 0;
    std::uint64_t reciprocal_ = 0;  // of set_count_, times 2^64
    std::unique_ptr<void, Free> memory_;
    Set* sets_ = nullptr;  // in memory_
    std::uint64_t last_line_ = ~std::uint64_t{0};
    Server l2_read_;
    Server l2_write_;
    Server hbm_;
    MemoryTraffic traffic_;
    std::uint64_t written_back_ = 0;  // by this Move
};

}  // namespace ascend_attention::sim
