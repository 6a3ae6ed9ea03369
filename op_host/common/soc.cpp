// SPDX-License-Identifier: Apache-2.0
#include "common/soc.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "common/own_rules.h"
#include "common/text.h"

namespace ascend_attention {
namespace {

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

namespace {

// Letters and digits in lower case, without "Ascend" or "Atlas".
std::string Bare(const std::string& name) {
    std::string text;
    for (const char letter : name) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
            text += char(std::tolower(static_cast<unsigned char>(letter)));
        }
    }
    for (const char* family : {"ascend", "atlas"}) {
        if (text.rfind(family, 0) == 0) {
            text = text.substr(std::string(family).size());
        }
    }
    return text;
}

// Letters to put in, to take out or to change until one text is the other.
size_t Edits(const std::string& from, const std::string& to) {
    std::vector<size_t> edits(to.size() + 1);
    std::iota(edits.begin(), edits.end(), size_t(0));
    for (size_t i = 1; i <= from.size(); ++i) {
        size_t diagonal = edits[0]++;
        for (size_t j = 1; j <= to.size(); ++j) {
            const size_t changed = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = edits[j];
            edits[j] = std::min({changed, edits[j] + 1, edits[j - 1] + 1});
        }
    }
    return edits.back();
}

// The known names that a wrong one may stand for: other letters' case or signs between, or a slip of one or two
// letters. Those with the fewest slips, three at most.
std::vector<std::string> NearNames(const std::string& given) {
    constexpr size_t kMost = 3;
    std::vector<std::string> nearest;
    size_t fewest = std::min<size_t>(2, given.size() > 0 ? given.size() - 1 : 0);
    for (const std::vector<Soc>* socs : {&KnownSocs(), &CheckedSocs()}) {
        for (const Soc& candidate : *socs) {
            const size_t edits = Edits(given, Bare(candidate.name));
            if (edits < fewest) {
                nearest.clear();
                fewest = edits;
            }
            if (edits == fewest && nearest.size() < kMost) {
                nearest.push_back(candidate.name);
            }
        }
    }
    return nearest;
}

// "Did you mean 'A', 'B' or 'C'?"
std::string DidYouMean(const std::vector<std::string>& names) {
    std::string text;
    for (size_t i = 0; i < names.size(); ++i) {
        text += Concat(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ", "'", names[i], "'");
    }
    return Concat("Did you mean ", text, "?");
}

std::string HelpFor(const std::string& name) {
    const std::string given = Bare(name.substr(0, 64));  // a name, however long the text is
    const std::vector<std::string> near = NearNames(given);
    if (!near.empty() && Bare(near.front()) == given) {
        return DidYouMean(near);
    }
    if (given == "910c" || given == "a3" || given == "800a3" || given == "900a3" || given.rfind("91093", 0) == 0) {
        return "Atlas A3, also called 910C, goes by Ascend910_93 and two digits, for example 'Ascend910_9391'.";
    }
    if (given == "910" || given == "910a" || given == "910b" || given == "a2" || given == "800a2") {
        return "Atlas A2 is Ascend910B with a number, for example 'Ascend910B2'. Plain Ascend910A and Ascend910B are "
               "an "
               "earlier generation that these kernels do not run on.";
    }
    return near.empty() ? "Atlas A2 is 'Ascend910B2' and the like, Atlas A3 (910C) 'Ascend910_9391' and the like."
                        : DidYouMean(near);
}

}  // namespace

Status FindSoc(const std::string& name, Soc* soc) {
    for (const std::vector<Soc>* socs : {&KnownSocs(), &CheckedSocs()}) {
        for (const Soc& candidate : *socs) {
            if (candidate.name == name) {
                *soc = candidate;
                return OkStatus();
            }
        }
    }
    return Refusal("ascend_attention", own_rule::kSoc, "soc", Quoted(name),
                   "a processor, such as Ascend910B2 or Ascend910_9391; to check requests only, also Ascend310P3, "
                   "Ascend950PR_9589 and the like",
                   HelpFor(name) + " All of them: python -m ascend_attention processors");
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
