// SPDX-License-Identifier: Apache-2.0
#include "timing/trace_bars.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace ascend_attention::sim {

namespace {

class Painter : public TraceVisitor {
public:
    Painter(const RunRecord& record, std::int64_t resolution)
        : record_(record), resolution_(resolution), open_(record.cores.size()) {}

    void Bar(const TraceBar& bar) override {
        const char* name = bar.wait ? DescribeWait(record_, bar) : InstructionName(bar);
        const PictureBar next{bar.core, bar.pipe, bar.wait, bar.begin, bar.end, name};
        Merged& open = open_[bar.core][static_cast<std::size_t>(bar.pipe)];
        const std::int64_t width = bar.end - bar.begin;
        if (!open.used) {
            open = Merged{true, next, width};
            return;
        }
        // A bar that could not be told from a neighbour of its kind joins it; of another kind, if both are too short.
        const bool close = bar.begin - open.bar.end < resolution_;
        const bool both_short = width < resolution_ && open.bar.end - open.bar.begin < resolution_;
        const bool alike = width < resolution_ && bar.wait == open.bar.wait && name == open.bar.name;
        if (close && (both_short || alike)) {
            open.bar.end = bar.end;
            if (width > open.longest) {
                open.longest = width;
                open.bar.wait = bar.wait;
                open.bar.name = name;
            }
            return;
        }
        picture_.bars.push_back(open.bar);
        open = Merged{true, next, width};
    }
    void Arrow(const TraceArrow& arrow) override {
        if (arrow.cross_core) {
            picture_.arrows.push_back(arrow);
        }
    }

    Picture Finish() {
        for (const auto& tracks : open_) {
            for (const Merged& open : tracks) {
                if (open.used) {
                    picture_.bars.push_back(open.bar);
                }
            }
        }
        return std::move(picture_);
    }

private:
    struct Merged {
        bool used = false;
        PictureBar bar;
        std::int64_t longest = 0;  // of the bars that it was made of
    };

    const char* InstructionName(const TraceBar& bar) const {
        const EventStream& stream = record_.streams[bar.core];
        return stream.instructions[stream.steps[bar.step].instruction].name;
    }

    const RunRecord& record_;
    std::int64_t resolution_;
    Picture picture_;
    std::vector<std::array<Merged, kPipeCount>> open_;
};

// When each line was told what it waited for.
class Listener : public TraceVisitor {
public:
    explicit Listener(const RunRecord& record) : record_(record) {}

    void Bar(const TraceBar&) override {}
    void Arrow(const TraceArrow& arrow) override {
        const Step& step = record_.streams[static_cast<std::size_t>(arrow.to.core)].steps[arrow.to.step];
        const bool computes = step.pipe == Pipe::kCube || step.pipe == Pipe::kVector;
        if (arrow.cross_core || computes) {
            times_[{arrow.cross_core, arrow.to.core, step.site}].push_back(arrow.end);
        }
    }

    // Cross-core flags are few and mark a round best. Of several lines the one that is told most often.
    std::vector<std::int64_t> Rounds() {
        std::vector<std::int64_t> best;
        for (const bool cross_core : {true, false}) {
            for (auto& [key, times] : times_) {
                if (std::get<0>(key) != cross_core) {
                    continue;
                }
                std::sort(times.begin(), times.end());
                times.erase(std::unique(times.begin(), times.end()), times.end());
                if (times.size() > best.size()) {
                    best = times;
                }
            }
            if (best.size() > 1) {
                break;
            }
        }
        return best;
    }

private:
    const RunRecord& record_;
    std::map<std::tuple<bool, std::int32_t, std::uint32_t>, std::vector<std::int64_t>> times_;
};

}  // namespace

Picture Draw(const RunRecord& record, const TraceWindow& window, std::int64_t resolution) {
    Painter painter(record, resolution);
    WalkTrace(record, window, painter);
    return painter.Finish();
}

std::pair<std::int64_t, std::int64_t> SteadyPart(const RunRecord& record, const TraceWindow& window,
                                                 std::size_t rounds) {
    Listener listener(record);
    WalkTrace(record, window, listener);
    const std::vector<std::int64_t> times = listener.Rounds();
    if (times.size() < rounds + 2) {
        return {0, static_cast<std::int64_t>(record.Nanoseconds(record.timeline.cycles)) + 1};
    }
    const std::size_t first = (times.size() - rounds) / 2;
    return {times[first], times[first + rounds]};
}

}  // namespace ascend_attention::sim
