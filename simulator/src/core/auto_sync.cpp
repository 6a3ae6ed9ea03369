// SPDX-License-Identifier: Apache-2.0
// What the vendor's compiler orders by itself (--cce-auto-sync, on by default in its kernel projects), as an option of
// checked mode. The facts are those of the page "key features" of in-core synchronisation in the documentation of
// asc-devkit: on architecture 2201 the compiler inserts, on vector cores only, PipeBarrier<PIPE_V> between dependent
// vector calls, and flags in both directions between the scalar unit and V, MTE2 and MTE3, for these scalar calls:
// LocalTensor GetValue, SetValue and operator(), GlobalTensor GetValue and operator(). Not for GlobalTensor SetValue,
// whose line the data cache writes back; not between V, MTE2 and MTE3; never on a cube core.
//
// A flag that is inserted for a pair of calls stands between the two. How far behind the first call it is set, the page
// leaves open, so no more is concluded than what the first call itself tells: that it has finished, and what its pipe
// had waited for when it was issued.
#include <cstring>

#include "core/checker.h"
#include "core/machine.h"

namespace ascend_attention::sim {

namespace {

// What a pipe knew is looked up for the last so many changes. Older knowledge is forgotten, which can only make the
// check stricter.
constexpr std::size_t kHistory = 64;

bool IsOrderedScalarCall(const char* name) {
    return std::strcmp(name, "GetValue") == 0 || std::strcmp(name, "SetValue") == 0 ||
           std::strcmp(name, "operator()") == 0;
}

}  // namespace

void CoreChecker::RememberKnowledge(Pipe pipe, Tick tick) {
    std::deque<Knowledge>& history = knowledge_[static_cast<std::size_t>(pipe)];
    const Clock& clock = clocks_[static_cast<std::size_t>(pipe)];
    knowledge_changed_[static_cast<std::size_t>(pipe)] = false;
    if (!history.empty() && history.back().tick == tick) {
        history.back().clock = clock;
        return;
    }
    history.push_back(Knowledge{tick, clock});
    if (history.size() > kHistory) {
        history.pop_front();
    }
}

Clock CoreChecker::KnowledgeAt(Pipe pipe, Tick tick) const {
    const std::deque<Knowledge>& history = knowledge_[static_cast<std::size_t>(pipe)];
    for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
        if (entry->tick <= tick) {
            return entry->clock;
        }
    }
    return Clock(shared_.components());
}

bool CoreChecker::CompilerOrders(const Instruction& now, Pipe earlier_pipe, Tick earlier_tick,
                                 const CallSite& earlier) {
    const Pipe pipe = now.call.pipe;
    if (pipe == Pipe::kVector && earlier_pipe == Pipe::kVector) {
        clocks_[static_cast<std::size_t>(pipe)].Raise(Component(pipe), now.tick - 1);
        RememberKnowledge(pipe, now.tick);
        return true;
    }
    const bool waits = pipe == Pipe::kScalar && IsOrderedScalarCall(now.call.name);
    const bool sets = earlier_pipe == Pipe::kScalar && IsOrderedScalarCall(earlier.name);
    if (pipe == earlier_pipe || (!waits && !sets)) {
        return false;
    }
    Clock flag = KnowledgeAt(earlier_pipe, earlier_tick);
    flag.Raise(Component(earlier_pipe), earlier_tick);
    if (waits) {  // the scalar unit issues nothing while it waits
        JoinAll(flag);
    } else {
        Join(pipe, flag);
    }
    RememberKnowledge(pipe, now.tick);
    return true;
}

}  // namespace ascend_attention::sim
