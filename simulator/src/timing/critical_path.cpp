// SPDX-License-Identifier: Apache-2.0
#include "timing/critical_path.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>

namespace ascend_attention::sim {

namespace {

constexpr int kCauseCount = static_cast<int>(Cause::kUnits) + 1;

PathPart PartOf(Cause cause) {
    switch (cause) {
        case Cause::kFlag:
            return PathPart::kFlag;
        case Cause::kUnits:
            return PathPart::kUnitFlag;
        case Cause::kCrossFlag:
            return PathPart::kCrossFlag;
        default:
            return PathPart::kIssue;
    }
}

struct Visit {
    PathSite site;
    std::array<double, kCauseCount> waited{};  // cycles of the instructions that each cause delayed
};

// Sites of device libraries are told apart by content: both core types compile the same line.
using SiteKey = std::tuple<std::string, int, int, bool, std::string>;

class Walk {
public:
    Walk(const std::vector<ReplayCore>& cores, const Timeline& timeline)
        : cores_(cores), timeline_(timeline), known_(cores.size()) {}

    CriticalPath Run() {
        double end = timeline_.cycles;
        StepRef at = timeline_.last;
        Cause cause = timeline_.last_cause;
        while (at.core >= 0) {
            const TimedStep& step = timeline_.cores[static_cast<std::size_t>(at.core)].steps[at.step];
            if (step.ends_with && cause != Cause::kQueue) {
                at = step.by;  // it ended with the other one: what it did itself has cost nothing
                cause = Cause::kUnits;
                continue;
            }
            Account(at, step, cause, end - step.start);
            end = step.start;
            cause = step.cause;
            at = step.by;
        }
        Add(PathPart::kIssue, end);  // until the first instruction was issued
        return Finish();
    }

private:
    void Add(PathPart part, double cycles) { path_.parts[static_cast<std::size_t>(part)] += cycles; }

    // The `cycles` from the start of an instruction until the next one of the path, which waited because of `cause`.
    void Account(StepRef at, const TimedStep& timed, Cause cause, double cycles) {
        const ReplayCore& core = cores_[static_cast<std::size_t>(at.core)];
        const Step& step = core.stream->steps[at.step];
        double rest = cycles;
        const auto take = [&](PathPart part, double most) {
            const double taken = std::min(rest, most);
            Add(part, taken);
            path_.by_pipe[static_cast<std::size_t>(step.pipe)] += taken;
            rest -= taken;
        };
        if (cause == Cause::kUnits && cycles < timed.occupancy) {
            take(PathPart::kLatency, timed.tail);  // until its first unit of L0C: it goes on beside the next one
        } else if (cause != Cause::kQueue) {       // who waits for a place in the queue waits for the start only
            take(PathPart::kWork, timed.own);
            take(PathPart::kMemory, std::max(0.0F, timed.occupancy - timed.own));
            take(PathPart::kLatency, timed.tail);
        }
        Add(PartOf(cause), rest);
        ++path_.instructions;
        Remember(at, core, step, timed, cycles);
    }

    void Remember(StepRef at, const ReplayCore& core, const Step& step, const TimedStep& timed, double cycles) {
        const InstructionKey& instruction = core.stream->instructions[step.instruction];
        const Site site = core.stream->sites[step.site];
        // The streams' own numbers find a site again without a look at its text.
        const std::uint64_t number = static_cast<std::uint64_t>(step.site) << 16 | step.instruction;
        Visit*& known = known_[static_cast<std::size_t>(at.core)][number];
        if (known == nullptr) {
            known = &visits_[SiteKey{site.file, site.line, static_cast<int>(step.pipe), core.cube, instruction.name}];
            known->site.instruction = instruction.name;
            known->site.site = site;
            known->site.pipe = step.pipe;
            known->site.cube = core.cube;
        }
        Visit& visit = *known;
        visit.site.cycles += cycles;
        ++visit.site.count;
        visit.waited[static_cast<std::size_t>(timed.cause)] += cycles;
    }

    CriticalPath Finish() {
        path_.cycles = std::accumulate(path_.parts.begin(), path_.parts.end(), 0.0);
        for (auto& [key, visit] : visits_) {
            const auto most = std::max_element(visit.waited.begin(), visit.waited.end());
            visit.site.waits_for = static_cast<Cause>(most - visit.waited.begin());
            path_.sites.push_back(visit.site);
        }
        std::stable_sort(path_.sites.begin(), path_.sites.end(),
                         [](const PathSite& a, const PathSite& b) { return a.cycles > b.cycles; });
        return std::move(path_);
    }

    const std::vector<ReplayCore>& cores_;
    const Timeline& timeline_;
    CriticalPath path_;
    std::map<SiteKey, Visit> visits_;
    std::vector<std::unordered_map<std::uint64_t, Visit*>> known_;  // by core; site and instruction of its stream
};

}  // namespace

CriticalPath FindCriticalPath(const std::vector<ReplayCore>& cores, const Timeline& timeline) {
    return Walk(cores, timeline).Run();
}

}  // namespace ascend_attention::sim
