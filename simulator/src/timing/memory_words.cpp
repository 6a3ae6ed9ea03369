// SPDX-License-Identifier: Apache-2.0
#include "timing/memory_words.h"

#include <algorithm>
#include <cstdint>

#include "timing/flag_order.h"

namespace ascend_attention::sim {

namespace {

// Bytes of global memory that a core touches in one step.
struct Touch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t step = 0;
    bool write = false;
    bool decides = false;  // may decide what the core does next

    bool Conflicts(bool other_writes, bool other_decides) const {
        return (write || other_writes) && (decides || other_decides);
    }
};

// All touches of a core in the order of its steps: visit(touch), until it answers false.
template <typename Visit>
void ForEachTouch(const EventStream& stream, Visit visit) {
    auto word = stream.words.begin();
    for (std::uint32_t at = 0; at < stream.steps.size(); ++at) {
        for (; word != stream.words.end() && word->step == at; ++word) {
            if (!visit(Touch{word->address, word->address + word->bytes, at, word->write, true})) {
                return;
            }
        }
        const Step& step = stream.steps[at];
        for (std::uint32_t i = 0; step.kind == StepKind::kInstruction && i < step.transfers; ++i) {
            const Transfer& transfer = stream.transfers[step.first_transfer + i];
            if (!transfer.shared) {
                continue;
            }
            const bool dense = transfer.count0 == 1 || transfer.stride0 == transfer.row_bytes;
            const std::uint64_t bytes = std::uint64_t{transfer.row_bytes} * (dense ? transfer.count0 : 1);
            const std::uint64_t rows = dense ? 1 : transfer.count0;
            for (std::uint64_t row = 0; row < rows * transfer.count1; ++row) {
                const std::uint64_t begin =
                    transfer.address + row / rows * transfer.stride1 + row % rows * transfer.stride0;
                const bool decides = !transfer.write && at < stream.looked_before;
                if (!visit(Touch{begin, begin + bytes, at, transfer.write, decides})) {
                    return;
                }
            }
        }
    }
}

struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
};

// Sorted, without overlaps.
std::vector<Interval> Union(std::vector<Interval> intervals) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::vector<Interval> merged;
    for (const Interval& interval : intervals) {
        if (!merged.empty() && interval.begin <= merged.back().end) {
            merged.back().end = std::max(merged.back().end, interval.end);
        } else {
            merged.push_back(interval);
        }
    }
    return merged;
}

bool Overlaps(const std::vector<Interval>& sorted, const Touch& touch) {
    const auto after =
        std::upper_bound(sorted.begin(), sorted.end(), touch.begin,
                         [](std::uint64_t value, const Interval& interval) { return value < interval.end; });
    return after != sorted.end() && after->begin < touch.end;
}

// Whether everybody's touches of the same bytes are in an order. Of each core the last touch of a kind is enough: an
// earlier one is ordered before whatever the last one is.
class WordCheck {
public:
    WordCheck(const std::vector<ReplayCore>& cores, std::size_t most)
        : cores_(cores), most_(most), touches_(cores.size()), next_(cores.size()) {}

    UnorderedWords Run() {
        if (!Collect()) {
            result_.gave_up = true;
            return result_;
        }
        if (cuts_.empty()) {
            return result_;
        }
        FlagOrder order(cores_);
        order.Run([&](std::size_t core, std::uint32_t step) {
            for (std::size_t& next = next_[core]; next < touches_[core].size() && touches_[core][next].step == step;
                 ++next) {
                if (!Check(order, core, touches_[core][next])) {
                    return false;
                }
            }
            return true;
        });
        return result_;
    }

private:
    struct Last {
        std::uint32_t core;
        std::uint32_t step;
        bool write;
        bool decides;
    };

    // The touches that matter: those that may decide something, and stores to the same bytes. False: too many.
    bool Collect() {
        std::vector<Interval> deciding;
        for (const ReplayCore& core : cores_) {
            if (core.stream->words.empty() && core.stream->looked_before == 0) {
                continue;
            }
            ForEachTouch(*core.stream, [&](const Touch& touch) {
                if (touch.decides) {
                    deciding.push_back(Interval{touch.begin, touch.end});
                }
                return deciding.size() <= most_;
            });
        }
        if (deciding.empty() || deciding.size() > most_) {
            return deciding.empty();
        }
        deciding = Union(std::move(deciding));
        std::size_t count = 0;
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            ForEachTouch(*cores_[core].stream, [&](const Touch& touch) {
                if (touch.decides || (touch.write && Overlaps(deciding, touch))) {
                    touches_[core].push_back(touch);
                    cuts_.push_back(touch.begin);
                    cuts_.push_back(touch.end);
                    ++count;
                }
                return count <= most_;
            });
        }
        std::sort(cuts_.begin(), cuts_.end());
        cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
        last_.resize(cuts_.size());
        return count <= most_;
    }

    // False when there is no need to go on.
    bool Check(const FlagOrder& order, std::size_t core, const Touch& touch) {
        const auto first = std::lower_bound(cuts_.begin(), cuts_.end(), touch.begin);
        for (auto at = static_cast<std::size_t>(first - cuts_.begin()); cuts_[at] < touch.end; ++at) {
            if (++looked_at_ > most_) {
                result_.gave_up = true;
                return false;
            }
            Last* own = nullptr;
            for (Last& last : last_[at]) {
                if (last.core == core) {
                    own = last.write == touch.write && last.decides == touch.decides ? &last : own;
                } else if (touch.Conflicts(last.write, last.decides) && !order.Knows(core, last.core, last.step)) {
                    Found(core, touch, last);
                    return false;
                }
            }
            if (own != nullptr) {
                own->step = touch.step;
            } else {
                last_[at].push_back(Last{static_cast<std::uint32_t>(core), touch.step, touch.write, touch.decides});
            }
        }
        return true;
    }

    void Found(std::size_t core, const Touch& touch, const Last& last) {
        const auto site = [&](std::size_t of, std::uint32_t step) {
            const EventStream& stream = *cores_[of].stream;
            return stream.sites[stream.steps[step].site];
        };
        const bool reader_first = !last.write;
        result_.found = true;
        result_.core = static_cast<int>(reader_first ? last.core : core);
        result_.site = reader_first ? site(last.core, last.step) : site(core, touch.step);
        result_.other = static_cast<int>(reader_first ? core : last.core);
        result_.other_site = reader_first ? site(core, touch.step) : site(last.core, last.step);
    }

    const std::vector<ReplayCore>& cores_;
    std::size_t most_;
    std::vector<std::vector<Touch>> touches_;  // by core
    std::vector<std::size_t> next_;
    std::vector<std::uint64_t> cuts_;      // where touches begin and end: between two, all bytes fare alike
    std::vector<std::vector<Last>> last_;  // by cut that the bytes begin with
    std::size_t looked_at_ = 0;
    UnorderedWords result_;
};

}  // namespace

UnorderedWords FindUnorderedWords(const std::vector<ReplayCore>& cores, std::size_t most) {
    return WordCheck(cores, most).Run();
}

}  // namespace ascend_attention::sim
