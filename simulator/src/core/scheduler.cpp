// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/checker.h"
#include "core/fault.h"
#include "core/fiber.h"
#include "core/sync.h"

namespace ascend_attention::sim {

namespace {

struct Task {
    Core* core;
    std::unique_ptr<Fiber> fiber;
};

// A core whose exception cannot be unwound ends up in std::terminate: only its fiber has to go, not the process. Most
// often a finding is in the log already, and the exception is the machine's own.
std::terminate_handler outer_terminate = nullptr;

// What was thrown, inside a handler for it; `otherwise` when C++ does not know.
std::string CurrentExceptionText(const char* otherwise) {
    const std::exception_ptr thrown = std::current_exception();
    if (thrown == nullptr) {
        return otherwise;
    }
    const char* type = abi::__cxa_current_exception_type()->name();
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        const char* text = error.what();
        return text == nullptr ? "" : text;
    } catch (...) {
        int status = 0;
        const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type, nullptr, nullptr, &status),
                                                               &std::free);
        return std::string("an exception of type ") + (status == 0 ? name.get() : type);
    }
}

[[noreturn]] void Terminate() {
    if (HasCurrentCore() && RunningFiber() != nullptr) {
        Core& core = CurrentCore();
        if (!core.ending) {
            const std::string place = ThrownAt(core);
            core.Report(Severity::kError, "exception",
                        "device code on " + core.name() +
                            " called std::terminate: an exception left a function that may not throw, or nothing "
                            "caught it (" +
                            CurrentExceptionText("no exception was thrown") +
                            (place.empty() ? "" : ", thrown" + place) + AfterCall(core) + ")",
                        "terminate" + place);
            core.ending = true;
            core.machine().Stop();
        }
        AbandonFiber();
    }
    if (outer_terminate != nullptr) {
        outer_terminate();
    }
    std::abort();
}

void InstallTerminate() {
    static std::once_flag once;
    std::call_once(once, [] { outer_terminate = std::set_terminate(&Terminate); });
}

class Scheduler {
public:
    Scheduler(Machine& machine, const RunOptions& options, const std::function<void(Core&)>& program)
        : machine_(machine), options_(options), code_(*options.kernel), threads_(options.threads), program_(program) {}

    // Threads are asked for first and wait at a gate: where fewer can be had, those that were share the blocks. The
    // fibers, which take memory, are made before any core runs, so that a shortage can still be thrown to the caller.
    void Run() {
        std::promise<bool> gate;
        const std::shared_future<bool> opened = gate.get_future().share();
        std::vector<std::thread> workers;
        try {
            for (int i = 1; i < threads_; ++i) {
                workers.emplace_back([this, i, opened] {
                    if (opened.get()) {
                        Work(tasks_[static_cast<std::size_t>(i)]);
                    }
                });
            }
        } catch (const std::exception&) {  // no thread or no memory for one
        }
        threads_ = static_cast<int>(workers.size()) + 1;
        std::exception_ptr shortage;
        try {
            MakeTasks();
        } catch (...) {
            shortage = std::current_exception();
        }
        gate.set_value(shortage == nullptr);
        if (shortage == nullptr) {
            Work(tasks_[0]);
        }
        for (std::thread& worker : workers) {
            worker.join();
        }
        if (shortage != nullptr) {
            std::rethrow_exception(shortage);
        }
    }

private:
    void MakeTasks() {
        tasks_.resize(static_cast<std::size_t>(threads_));
        for (const std::unique_ptr<Core>& core : machine_.cores()) {
            Core* pointer = core.get();
            auto fiber = std::make_unique<Fiber>([this, pointer] { RunProgram(*pointer, program_); });
            pointer->SetStackLimit(fiber->StackLimit());
            pointer->code = &code_;
            tasks_[pointer->identity().block % static_cast<std::uint32_t>(threads_)].push_back(
                {pointer, std::move(fiber)});
        }
    }

    void Work(std::vector<Task>& tasks) {
        ThreadGuard guard(code_, options_.stall_seconds);
        while (true) {
            const std::uint64_t progress = machine_.progress();
            bool all_finished = true;
            const bool ran = Rotate(tasks, guard, &all_finished);
            if (all_finished) {
                break;
            }
            if (!ran) {
                Sleep(progress);
            }
        }
        // Threads that sleep must see that there is one less that can wake them.
        {
            const std::lock_guard<std::mutex> lock(machine_.sleep_mutex());
            ++done_;
        }
        machine_.sleepers().notify_all();
    }

    bool CanGoOn(const Core& core) {
        return core.sync().can_go_on ? core.sync().can_go_on() : machine_.flags().Ready(core, core.waits_for_flag);
    }

    // One turn for every core that can run. Returns whether any did.
    bool Rotate(std::vector<Task>& tasks, ThreadGuard& guard, bool* all_finished) {
        bool ran = false;
        for (Task& task : tasks) {
            if (task.fiber->finished()) {
                continue;
            }
            const bool stopping = machine_.stopping();
            if (stopping && !task.fiber->started()) {
                task.fiber = nullptr;
                continue;
            }
            Core& core = *task.core;
            if (!stopping && core.waits_for.name != nullptr && !CanGoOn(core)) {
                *all_finished = false;
                continue;
            }
            SetCurrentCore(&core);
            guard.Enter(core);
            task.fiber->Resume();
            SetCurrentCore(nullptr);
            if (guard.Taken() != nullptr) {
                ReportFault(core, code_, *guard.Taken(), options_.stall_seconds);
                machine_.Stop();
            }
            ran = true;
            *all_finished = *all_finished && task.fiber->finished();
            if (!stopping && machine_.stopping()) {
                machine_.Progress();  // wake the others so that they end their cores
            }
        }
        tasks.erase(std::remove_if(tasks.begin(), tasks.end(), [](const Task& task) { return task.fiber == nullptr; }),
                    tasks.end());
        return ran;
    }

    // Waits until another thread has made progress since `seen`. When every thread sleeps at the same count of progress
    // or is done, nobody can ever go on: that is a deadlock, reported while no core of any thread runs.
    void Sleep(std::uint64_t seen) {
        std::unique_lock<std::mutex> lock(machine_.sleep_mutex());
        if (machine_.progress() != seen || machine_.stopping()) {
            return;
        }
        if (idle_at_ != seen) {
            idle_at_ = seen;
            idle_ = 0;  // whoever slept at an earlier count has been woken
        }
        ++idle_;
        const auto quiescent = [&] { return idle_at_ == seen && idle_ + done_ == threads_; };
        machine_.sleepers().wait(lock,
                                 [&] { return machine_.progress() != seen || machine_.stopping() || quiescent(); });
        if (machine_.progress() == seen && !machine_.stopping()) {
            ReportDeadlock();
            machine_.Stop();
            machine_.sleepers().notify_all();
        }
    }

    void ReportDeadlock() {
        std::string text = "no core can go on:";
        for (const std::unique_ptr<Core>& core : machine_.cores()) {
            text += "\n  " + core->name();
            if (core->waits_for.name == nullptr) {
                text += " has finished";
                continue;
            }
            text += " waits in " + Describe(core->waits_for) + " for " +
                    (core->sync().can_go_on ? core->sync().waits_for : FlagName(core->waits_for_flag));
        }
        machine_.log().Add(Finding{Severity::kError, "deadlock", text}, "deadlock");
    }

    Machine& machine_;
    const RunOptions& options_;
    const LaunchCode code_;
    int threads_;
    const std::function<void(Core&)>& program_;
    std::vector<std::vector<Task>> tasks_;  // by host thread: all cores of a block stay together
    // Under the machine's sleep mutex.
    int idle_ = 0;  // threads that sleep since the count of progress was idle_at_
    std::uint64_t idle_at_ = 0;
    int done_ = 0;  // threads whose cores have all ended
};

}  // namespace

void RunProgram(Core& core, const std::function<void(Core&)>& program) {
    std::string place;
    std::string text;
    try {
        program(core);
        ReportLeftoverEvents(core);
        if (core.checker() != nullptr) {
            core.checker()->End();
        }
        return;
    } catch (const CoreEnd&) {
        return;
    } catch (...) {
        place = ThrownAt(core);
        text = CurrentExceptionText("an exception of another language");
    }
    core.Report(Severity::kError, "exception",
                "device code on " + core.name() + " threw" + place + ": " + text + AfterCall(core), text + place);
    core.machine().Stop();
}

void RunCores(Machine& machine, const RunOptions& options, const std::function<void(Core&)>& program) {
    InstallTerminate();
    const FaultHandlers handlers;
    Scheduler(machine, options, program).Run();
    if (!machine.stopping()) {
        machine.flags().ReportLeftovers();
    }
}

}  // namespace ascend_attention::sim
