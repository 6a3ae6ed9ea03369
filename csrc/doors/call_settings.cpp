// SPDX-License-Identifier: Apache-2.0
#include "doors/call_settings.h"

#include <cstdlib>
#include <mutex>
#include <utility>

#include "doors/refusal.h"

namespace ascend_attention::doors {
namespace {

std::mutex provider_mutex;
SettingsProvider current_provider;

[[noreturn]] void Refuse(const std::string& argument, const std::string& given, const std::string& allowed) {
    Status status;
    status.code = StatusCode::kInvalidParameter;
    status.op = "simulator";
    status.argument = argument;
    status.given = "\"" + given + "\"";
    status.allowed = allowed;
    throw Refusal(status);
}

// An empty variable counts as not set.
const char* Environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

sim::Mode ModeFromName(const std::string& argument, const std::string& name) {
    if (name == "fast") {
        return sim::Mode::kFast;
    }
    if (name == "checked") {
        return sim::Mode::kChecked;
    }
    Refuse(argument, name, "\"fast\" or \"checked\"");
}

Contract ContractFromName(const std::string& argument, const std::string& name) {
    if (name == "document") {
        return Contract::kDocument;
    }
    if (name == "extended") {
        return Contract::kExtended;
    }
    Refuse(argument, name, "\"document\" or \"extended\"");
}

void CheckSoc(const std::string& argument, const std::string& name) {
    Soc soc;
    Status status = FindSoc(name, &soc);
    if (!status.ok()) {
        status.op = "simulator";
        status.argument = argument;
        throw Refusal(status);
    }
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
    if (const char* mode = Environment("ASCEND_ATTENTION_SIM")) {
        settings.run.mode = ModeFromName("ASCEND_ATTENTION_SIM", mode);
    }
    if (const char* soc = Environment("ASCEND_ATTENTION_SOC")) {
        CheckSoc("ASCEND_ATTENTION_SOC", soc);
        settings.run.soc = soc;
    }
    if (const char* contract = Environment("ASCEND_ATTENTION_CONTRACT")) {
        settings.contract = ContractFromName("ASCEND_ATTENTION_CONTRACT", contract);
    }
    return settings;
}

}  // namespace ascend_attention::doors
