// SPDX-License-Identifier: Apache-2.0
// The settings of the current call, whichever door it came through: what `with simulator(...)` and `with contract(...)`
// say in Python, else the environment.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api.h"
#include "doors/export.h"
#include "launch/sim/run_settings.h"

namespace ascend_attention::doors {

struct CallSettings {
    launch::RunSettings run;
    Contract contract = Contract::kDocument;
};

// Fills the settings of the calling thread and task and returns true, or returns false when nobody set any.
using SettingsProvider = std::function<bool(CallSettings*)>;

// Installed once, by `_core`, which knows how to read Python's context variable.
ASCEND_ATTENTION_API void SetSettingsProvider(SettingsProvider provider);

// The provider's answer, else DefaultSettings().
ASCEND_ATTENTION_API CallSettings CurrentSettings();

// ASCEND_ATTENTION_SIM (fast, checked, timed), ASCEND_ATTENTION_SOC, ASCEND_ATTENTION_CONTRACT (document, extended),
// read at each call. A value that means nothing is a Refusal.
ASCEND_ATTENTION_API CallSettings DefaultSettings();
// Its two halves, each for a caller that overrides the other: a variable that does not matter is not looked at.
ASCEND_ATTENTION_API void ReadMachineFromEnvironment(CallSettings* settings);
ASCEND_ATTENTION_API void ReadContractFromEnvironment(CallSettings* settings);

// Where a word stands, for a refusal: "simulator", "mode"; or "environment", "ASCEND_ATTENTION_SIM".
struct Place {
    std::string owner;
    std::string name;
};
// The same words for the environment and for Python's arguments.
ASCEND_ATTENTION_API sim::Mode ModeFromName(const Place& place, const std::string& name);
ASCEND_ATTENTION_API sim::CostSource CostsFromName(const Place& place, const std::string& name);
ASCEND_ATTENTION_API Contract ContractFromName(const Place& place, const std::string& name);
// Refuses an SoC that the host does not know.
ASCEND_ATTENTION_API void CheckSoc(const Place& place, const std::string& name);
// A processor that `soc` may name: those that kernels run on, and those that calls are only checked for, with 0 cores.
struct Processor {
    std::string name;
    int cores;
    std::string product;
};
ASCEND_ATTENTION_API std::vector<Processor> Processors();
// AI cores per SoC, as the planner splits work over them.
ASCEND_ATTENTION_API std::map<std::string, int> PlannedCores();

}  // namespace ascend_attention::doors
