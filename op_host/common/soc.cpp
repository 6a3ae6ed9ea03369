// SPDX-License-Identifier: Apache-2.0
#include "common/soc.h"

#include <algorithm>
#include <cctype>

#include "common/text.h"

namespace ascend_attention {
namespace {

std::string NamesOf(const std::vector<Soc>& socs) {
    std::string names;
    for (const Soc& soc : socs) {
        names += (names.empty() ? "" : ", ") + soc.name;
    }
    return names;
}

std::vector<Soc> MakeCheckedSocs() {
    std::vector<Soc> socs;
    for (const char* name : {"Ascend310P1", "Ascend310P3", "Ascend310P5", "Ascend310P7"}) {
        socs.push_back({name, 0, Product::kInferenceCards});
    }
    for (const char* name : {"PR_9579", "PR_957b", "PR_957c", "PR_957d", "PR_9589", "PR_958a", "PR_958b", "PR_9599",
                             "DT_9571", "DT_9572", "DT_9573", "DT_9574", "DT_9575", "DT_9576", "DT_9577", "DT_9578",
                             "DT_9581", "DT_9582", "DT_9583", "DT_9584", "DT_9585", "DT_9586", "DT_9587", "DT_9588",
                             "DT_9591", "DT_9592", "DT_9595", "DT_9596", "DT_95A1", "DT_95A2"}) {
        socs.push_back({Concat("Ascend950", name), 0, Product::kAscend950});
    }
    return socs;
}

}  // namespace

const std::vector<Soc>& KnownSocs() {
    static const std::vector<Soc> socs = {
        {"Ascend910B1", 24},    {"Ascend910B2", 24},    {"Ascend910B2C", 24},   {"Ascend910B3", 20},
        {"Ascend910B4", 20},    {"Ascend910B4-1", 20},  {"Ascend910_9362", 20}, {"Ascend910_9372", 20},
        {"Ascend910_9381", 24}, {"Ascend910_9382", 24}, {"Ascend910_9391", 24}, {"Ascend910_9392", 24},
    };
    return socs;
}

const std::vector<Soc>& CheckedSocs() {
    static const std::vector<Soc> socs = MakeCheckedSocs();
    return socs;
}

// The known name that a wrong one stands for: other letters' case, other signs between, or without "Ascend".
static std::string NearName(const std::string& given) {
    const auto bare = [](const std::string& name) {
        std::string text;
        for (const char letter : name) {
            if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
                text += char(std::tolower(static_cast<unsigned char>(letter)));
            }
        }
        return text.rfind("ascend", 0) == 0 ? text.substr(6) : text;
    };
    for (const std::vector<Soc>* socs : {&KnownSocs(), &CheckedSocs()}) {
        for (const Soc& candidate : *socs) {
            if (bare(candidate.name) == bare(given)) {
                return candidate.name;
            }
        }
    }
    return "";
}

Status FindSoc(const std::string& name, Soc* soc) {
    for (const std::vector<Soc>* socs : {&KnownSocs(), &CheckedSocs()}) {
        for (const Soc& candidate : *socs) {
            if (candidate.name == name) {
                *soc = candidate;
                return OkStatus();
            }
        }
    }
    const std::string near = NearName(name);
    return Refusal(
        "ascend_attention", "SOC", "soc", Quoted(name),
        Concat(NamesOf(KnownSocs()), "; to check requests only: ", NamesOf(CheckedSocs())),
        !near.empty()
            ? Concat("Did you mean '", near, "'?")
            : std::string(
                  "Plain Ascend910A and Ascend910B are an earlier generation that these kernels do not run on."));
}

const char* NameOf(Product product) {
    switch (product) {
        case Product::kInferenceCards:
            return "Atlas inference accelerator cards (310P)";
        case Product::kAscend950:
            return "Ascend 950";
        default:
            return "Atlas A2 and A3";
    }
}

std::string ProductText(const Soc& soc) { return Concat(soc.name, ", ", NameOf(soc.product)); }

Status CheckProduct(const char* op, const char* rule, const Soc& soc, const std::vector<Product>& listed) {
    if (std::find(listed.begin(), listed.end(), soc.product) != listed.end()) {
        return OkStatus();
    }
    std::string allowed;
    for (const Product product : listed) {
        allowed += (allowed.empty() ? "" : ", ") + std::string(NameOf(product));
    }
    return Refusal(op, rule, "soc", ProductText(soc), allowed, "The operator's document does not list this product.");
}

Status CheckKernelsExist(const char* op, const Soc& soc) {
    if (soc.product == Product::kAtlasA2A3) {
        return OkStatus();
    }
    return NotSupportedYet(op, "soc", ProductText(soc), NameOf(Product::kAtlasA2A3));
}

}  // namespace ascend_attention
