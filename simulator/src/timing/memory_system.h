// SPDX-License-Identifier: Apache-2.0
// L2 and HBM as the replay sees them: which 512-byte lines are in L2, and how much of the shared bandwidth is taken.
#pragma once

#include <cstdint>
#include <vector>

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
    static constexpr int kWays = 16;

    struct Line {
        std::uint64_t tag = 0;  // line number + 1; 0 is empty
        std::uint32_t used = 0;
        bool dirty = false;
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

    // Whether the line was there; it is afterwards.
    bool Touch(std::uint64_t line, bool write);
    // A line that becomes dirty costs its way back to HBM now, not when it makes room: a kernel that runs again and
    // again pays for the lines of the run before.
    void MarkDirty(Line& line, bool write);
    void TouchRow(std::uint64_t address, std::uint64_t bytes, bool write, std::uint64_t& missed_bytes);

    std::vector<Line> lines_;
    std::uint64_t sets_ = 0;
    std::uint32_t clock_ = 0;
    std::uint64_t last_line_ = ~std::uint64_t{0};
    Server l2_read_;
    Server l2_write_;
    Server hbm_;
    MemoryTraffic traffic_;
    std::uint64_t written_back_ = 0;  // by this Move
};

}  // namespace ascend_attention::sim
