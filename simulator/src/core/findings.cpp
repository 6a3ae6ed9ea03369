// SPDX-License-Identifier: Apache-2.0
#include "core/findings.h"

#include <cstring>
#include <utility>

namespace ascend_attention::sim {

void FindingLog::Add(Finding finding, const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool error = finding.severity == Severity::kError;
    if (!keys_.insert(finding.kind + "|" + key).second) {
        return;
    }
    // Errors are never dropped for warnings that came first.
    if (findings_.size() >= (error ? 2 * kLimit : kLimit)) {
        ++dropped_;
        return;
    }
    findings_.push_back(std::move(finding));
}

std::vector<Finding> FindingLog::Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (dropped_ != 0) {
        findings_.push_back(Finding{Severity::kWarning, "dropped",
                                    std::to_string(dropped_) + " more findings of other lines are not listed"});
        dropped_ = 0;
    }
    keys_.clear();
    return std::exchange(findings_, {});
}

const char* NameOf(Space space) {
    static const char* const kNames[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    return kNames[static_cast<int>(space)];
}

const char* NameOf(Pipe pipe) {
    static const char* const kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    return kNames[static_cast<int>(pipe)];
}

const char* NameOf(DType dtype) {
    static const char* const kNames[] = {"float16", "bfloat16", "float32", "int4",  "int8",   "uint8", "int16",
                                         "uint16",  "int32",    "uint32",  "int64", "uint64", "bytes"};
    return kNames[static_cast<int>(dtype)];
}

std::string BaseName(const char* file) {
    const char* slash = std::strrchr(file, '/');
    return slash == nullptr ? file : slash + 1;
}

std::string SiteKey(const Site& site) { return std::string(site.file) + ":" + std::to_string(site.line); }

std::string Describe(const char* name, const Site& site) {
    return std::string(name) + " (" + BaseName(site.file) + ":" + std::to_string(site.line) + ")";
}

std::string Describe(const Call& call) { return Describe(call.name, call.site); }

}  // namespace ascend_attention::sim
