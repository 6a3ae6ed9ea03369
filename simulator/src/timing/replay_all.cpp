// SPDX-License-Identifier: Apache-2.0
#include "timing/replay_all.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "timing/replayer.h"

namespace ascend_attention::sim {

namespace {

// Three replays on two threads, each from its beginning to its end, would take as long as on one thread two of them.
// They are shared out in slices instead: a thread takes up the one that is furthest behind and that nobody works at.
class Replays {
public:
    Replays(const std::vector<ReplayCore>& cores, const ReplaySettings& given, std::uint64_t slice)
        : cores_(cores), given_(given), slice_(slice) {}

    std::array<Timeline, kAssumptions> Run(int threads) {
        if (IsSmall()) {
            threads = 1;  // a thread takes longer to come than the work
        }
        if (threads < 2 || threads >= static_cast<int>(kAssumptions)) {
            slice_ = std::numeric_limits<std::uint64_t>::max();  // nothing to share out
        }
        std::vector<std::thread> helpers;
        helpers.reserve(kAssumptions);
        for (int i = 1; i < std::min<int>(threads, kAssumptions); ++i) {
            try {
                helpers.emplace_back([this] { Help(); });
            } catch (const std::exception&) {
                break;  // no more threads, or no memory for one: those that there are do the rest
            }
        }
        Help();
        for (std::thread& helper : helpers) {
            helper.join();
        }
        for (const One& one : all_) {
            if (one.failure != nullptr) {
                std::rethrow_exception(one.failure);
            }
        }
        return std::move(timelines_);
    }

private:
    struct One {
        std::unique_ptr<Replayer> replayer;  // from its first slice to its last
        std::uint64_t slices = 0;
        bool taken = false;
        bool done = false;
        std::exception_ptr failure;
    };

    bool IsSmall() const {
        std::uint64_t steps = 0;
        for (const ReplayCore& core : cores_) {
            steps += core.stream->steps.size();
        }
        return steps < slice_ / 16;
    }

    // Until none is free: those who work at the others will finish them.
    void Help() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (One* one = Next(); one != nullptr; one = Next()) {
            one->taken = true;
            lock.unlock();
            try {
                one->done = Slice(*one, static_cast<std::size_t>(one - all_.data()));
            } catch (...) {
                one->failure = std::current_exception();
                one->replayer.reset();
                one->done = true;
            }
            lock.lock();
            one->taken = false;
            ++one->slices;
        }
    }

    // The middle one first when all have come as far: it takes longest.
    One* Next() {
        constexpr Assumption kOrder[kAssumptions] = {Assumption::kMiddle, Assumption::kLow, Assumption::kHigh};
        One* next = nullptr;
        for (const Assumption assumption : kOrder) {
            One& one = all_[static_cast<std::size_t>(assumption)];
            if (!one.taken && !one.done && (next == nullptr || one.slices < next->slices)) {
                next = &one;
            }
        }
        return next;
    }

    bool Slice(One& one, std::size_t at) {
        if (one.replayer == nullptr) {
            ReplaySettings settings = given_;
            settings.assumption = static_cast<Assumption>(at);
            settings.keep_steps = settings.assumption == Assumption::kMiddle;
            one.replayer = std::make_unique<Replayer>(cores_, settings);
        }
        if (!one.replayer->Run(slice_)) {
            return false;
        }
        timelines_[at] = one.replayer->Finish();
        one.replayer.reset();
        return true;
    }

    const std::vector<ReplayCore>& cores_;
    const ReplaySettings& given_;
    std::uint64_t slice_;
    std::mutex mutex_;
    std::array<One, kAssumptions> all_;  // by assumption
    std::array<Timeline, kAssumptions> timelines_;
};

}  // namespace

std::array<Timeline, kAssumptions> ReplayAll(const std::vector<ReplayCore>& cores, const ReplaySettings& given,
                                             int threads, std::uint64_t slice) {
    return Replays(cores, given, slice).Run(threads);
}

}  // namespace ascend_attention::sim
