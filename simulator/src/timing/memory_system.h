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
    Answer Move(const Transfer& transfer, double now) {
        if (transfer.bypasses_l2) {
            return MoveAround(transfer, now);
        }
        std::uint64_t missed = 0;
        written_back_ = 0;
        const std::uint64_t run = std::uint64_t{transfer.row_bytes} * transfer.count0;
        if (transfer.count1 == 1 && (transfer.count0 == 1 || transfer.stride0 == transfer.row_bytes)) {
            TouchRow(transfer.address, run, transfer.write, missed);
        } else {
            missed = TouchRows(transfer);
        }
        const auto bytes = run * transfer.count1;
        const auto from_hbm = missed + written_back_;
        Answer answer;
        answer.missed = missed != 0 && !transfer.write;
        if (transfer.write) {
            traffic_.l2_written += bytes;
            answer.done = l2_write_.Serve(now, bytes);
        } else {
            traffic_.l2_read += bytes;
            answer.done = l2_read_.Serve(now, bytes);
        }
        if (from_hbm != 0) {
            traffic_.hbm_read += missed;
            traffic_.hbm_written += written_back_;
            const double served = hbm_.Serve(now, from_hbm);
            answer.done = answer.done < served ? served : answer.done;
        }
        return answer;
    }
    // What the host will look at when bytes from there on move.
    const void* PlaceOf(std::uint64_t address) const { return sets_ + SetOf(address / kLineBytes); }
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
        double Serve(double now, std::uint64_t count) {
            const auto bytes = static_cast<double>(static_cast<std::int64_t>(count));  // quicker than unsigned
            free_at = (free_at > now ? free_at : now) + bytes / rate;
            return free_at;
        }
    };

    std::uint64_t SetOf(std::uint64_t line) const {
        if (line < set_count_) {
            return line;
        }
        // Neighbouring lines lie in neighbouring sets. A pitch that is a multiple of the number of sets would crowd one
        // set; the upper bits are folded in, as caches do. Division by multiplication: it is done for every line.
        const auto divide = [this](std::uint64_t number) {
            const auto quotient =
                static_cast<std::uint64_t>(static_cast<unsigned __int128>(number) * reciprocal_ >> 64);
            return number - quotient * set_count_ < set_count_ ? quotient : quotient + 1;
        };
        const std::uint64_t folded = line ^ (divide(line) * 0x9E3779B1U);
        return folded - divide(folded) * set_count_;
    }
    // Whether the line was there; it is afterwards.
    bool Touch(std::uint64_t line, bool write) {
        Set* const set = sets_ + SetOf(line);
        __builtin_prefetch(set + 1);  // of the next line, which somebody will want soon
        const auto wanted = static_cast<Line>(line + 1);
        const Line latest = set->lines[0];
        return latest == (wanted | kDirty) || (latest == wanted && !write) || Use(*set, wanted, write);
    }
    bool Use(Set& set, Line wanted, bool write);
    void TouchRow(std::uint64_t address, std::uint64_t bytes, bool write, std::uint64_t& missed_bytes) {
        const std::uint64_t end = address + bytes;
        std::uint64_t line = address / kLineBytes;
        if (line * kLineBytes >= end) {
            return;
        }
        do {
            if (line == last_line_ && !write) {
                continue;
            }
            if (!Touch(line, write)) {
                // A store of a whole line needs nothing from HBM.
                const std::uint64_t begin = line * kLineBytes;
                if (!write || begin < address || begin + kLineBytes > end) {
                    missed_bytes += kLineBytes;
                }
            }
            last_line_ = line;
        } while (++line * kLineBytes < end);
    }
    std::uint64_t TouchRows(const Transfer& transfer);  // bytes that were missing

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
