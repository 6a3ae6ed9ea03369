// SPDX-License-Identifier: Apache-2.0
#include "doors/call_settings.h"

#include <cstdlib>
#include <mutex>
#include <utility>

#include "common/own_rules.h"
#include "common/text.h"
#include "doors/refusal.h"

namespace ascend_attention::doors {
namespace {

constexpr const char* kEnvironment = "environment";

std::mutex provider_mutex;
SettingsProvider current_provider;

[[noreturn]] void Refuse(const Place& place, const char* rule, const std::string& given, const std::string& allowed) {
    Status status;
    status.code = StatusCode::kInvalidParameter;
    status.op = place.owner;
    status.argument = place.name;
    status.rule = rule;
    status.given = Quoted(given);
    status.allowed = allowed;
    throw Refusal(status);
}

// An empty variable counts as not set.
const char* Environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

sim::Mode ModeFromName(const Place& place, const std::string& name) {
    if (name == "fast") {
        return sim::Mode::kFast;
    }
    if (name == "checked") {
        return sim::Mode::kChecked;
    }
    if (name == "timed") {
        return sim::Mode::kTimed;
    }
    Refuse(place, own_rule::kMode, name, "'fast', 'checked', 'timed'");
}

sim::CostSource CostsFromName(const Place& place, const std::string& name) {
    if (name == "measured") {
        return sim::CostSource::kMeasured;
    }
    if (name == "documented") {
        return sim::CostSource::kDocumented;
    }
    Refuse(place, own_rule::kCosts, name, "'measured', 'documented'");
}

Contract ContractFromName(const Place& place, const std::string& name) {
    if (name == "document") {
        return Contract::kDocument;
    }
    if (name == "extended") {
        return Contract::kExtended;
    }
    Refuse(place, own_rule::kContract, name, "'document', 'extended'");
}

void CheckSoc(const Place& place, const std::string& name) {
    Soc soc;
    Status status = FindSoc(name, &soc);
    if (!status.ok()) {
        status.op = place.owner;
        status.argument = place.name;
        throw Refusal(status);
    }
}

std::vector<Processor> Processors() {
    std::vector<Processor> processors;
    for (const std::vector<Soc>* socs : {&KnownSocs(), &CheckedSocs()}) {
        for (const Soc& soc : *socs) {
            processors.push_back({soc.name, soc.aic_count, NameOf(soc.product)});
        }
    }
    return processors;
}

std::map<std::string, int> PlannedCores() {
    std::map<std::string, int> cores;
    for (const Soc& soc : KnownSocs()) {
        cores.emplace(soc.name, soc.aic_count);
    }
    return cores;
}

void SetSettingsProvider(SettingsProvider provider) {
    const std::lock_guard<std::mutex> lock(provider_mutex);
    current_provider = std::move(provider);
}

CallSettings CurrentSettings() {
    SettingsProvider provider;
    {
        // Copied out: the provider takes Python's lock, and must not do so while holding ours.
        const std::lock_guard<std::mutex> lock(provider_mutex);
        provider = current_provider;
    }
    CallSettings settings;
    if (provider && provider(&settings)) {
        return settings;
    }
    return DefaultSettings();
}

CallSettings DefaultSettings() {
    CallSettings settings;
    ReadMachineFromEnvironment(&settings);
    ReadContractFromEnvironment(&settings);
    return settings;
}

void ReadMachineFromEnvironment(CallSettings* settings) {
    if (const char* mode = Environment("ASCEND_ATTENTION_SIM")) {
        settings->run.mode = ModeFromName({kEnvironment, "ASCEND_ATTENTION_SIM"}, mode);
    }
    if (const char* soc = Environment("ASCEND_ATTENTION_SOC")) {
        CheckSoc({kEnvironment, "ASCEND_ATTENTION_SOC"}, soc);
        settings->run.soc = soc;
    }
}

void ReadContractFromEnvironment(CallSettings* settings) {
    if (const char* contract = Environment("ASCEND_ATTENTION_CONTRACT")) {
        settings->contract = ContractFromName({kEnvironment, "ASCEND_ATTENTION_CONTRACT"}, contract);
    }
}

}  // namespace ascend_attention::doors
