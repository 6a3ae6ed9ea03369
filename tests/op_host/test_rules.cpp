// SPDX-License-Identifier: Apache-2.0
// Every rule of the conformance file: the request that breaks it is refused under its id, its neighbour is not.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "api.h"
#include "cpp/check.h"
#include "op_host/case_file.h"

namespace {

using namespace ascend_attention;
using case_file::Request;

struct Verdict {
    const char* name;
    StatusCode code;
};

constexpr Verdict kVerdicts[] = {
    {"accept", StatusCode::kOk},
    {"refuse", StatusCode::kInvalidParameter},
    {"null", StatusCode::kNullPointer},
    {"later", StatusCode::kNotSupported},
};

StatusCode CodeOf(const std::string& name) {
    for (const Verdict& verdict : kVerdicts) {
        if (name == verdict.name) {
            return verdict.code;
        }
    }
    throw std::runtime_error("no such verdict: " + name);
}

// A case about the caller's own results: the request itself is legal. One that is not given fits.
void CheckResults(const Request& request, Contract contract, const case_file::Results& results, StatusCode wanted,
                  const std::string& rule, const std::string& line) {
    FusedInferAttentionScoreV2Outputs outputs;
    const Status inferred = InferOutputs(request, contract, &outputs);
    CHECK_CONTEXT(inferred.ok(), line + "\n    -> " + inferred.Text());
    const auto fitting = [](const OutputSpec& spec) {
        return MakeTensorView(nullptr, NameOf(spec.dtype), spec.shape, true);
    };
    const Status status = CheckOutputs(outputs, request.return_softmax_lse,
                                       results.attention_out ? *results.attention_out : fitting(outputs.attention_out),
                                       results.softmax_lse ? *results.softmax_lse : fitting(outputs.softmax_lse));
    const std::string context = line + "\n    -> " + status.Text();
    CHECK_EQ_CONTEXT(status.code_number(), int32_t(wanted), context);
    if (!status.ok()) {
        CHECK_EQ_CONTEXT(status.rule, rule, context);
        CHECK_EQ_CONTEXT(status.argument, std::string(results.attention_out ? "attention_out" : "softmax_lse"),
                         context);
        CHECK_CONTEXT(!status.given.empty() && !status.allowed.empty(), context);
    }
}

void CheckCase(const Request& request, Contract contract, StatusCode wanted, const std::string& rule,
               const std::string& line) {
    FusedInferAttentionScoreV2Outputs outputs;
    outputs.attention_out.shape = {-7};
    const Status status = InferOutputs(request, contract, &outputs);
    const std::string context = line + "\n    -> " + status.Text();
    CHECK_EQ_CONTEXT(status.code_number(), int32_t(wanted), context);
    if (wanted == StatusCode::kOk) {
        CHECK_CONTEXT(outputs.attention_out.shape != Shape{-7}, context);
        return;
    }
    CHECK_EQ_CONTEXT(status.rule, wanted == StatusCode::kNotSupported ? "NOT-YET" : rule, context);
    CHECK_CONTEXT(outputs.attention_out.shape == Shape{-7}, context);  // a refusal has changed nothing
    // Everything a person needs is there, in the one text that all doors print.
    for (const std::string& part : {status.op, status.argument, status.given, status.allowed, status.rule}) {
        CHECK_CONTEXT(!part.empty() && status.Text().find(part) != std::string::npos, context);
    }
    Prepared prepared;
    CHECK_EQ_CONTEXT(Prepare(request, KnownSocs().front(), contract, &prepared).Text(), status.Text(), context);
}

// Rule ids that the sources can refuse with.
std::set<std::string> RulesInSources(const std::string& directory) {
    std::set<std::string> rules;
    const std::regex pattern("\"(FIA-[A-Z]+[0-9]+)\"");
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(entry.path());
        const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
            rules.insert((*it)[1]);
        }
    }
    return rules;
}

std::set<std::string> RunFile(const std::string& path) {
    std::ifstream file(path);
    std::map<std::string, Request> bases;
    std::set<std::string> refused;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word[0] == '#') {
            continue;
        }
        if (word == "base") {
            std::string name;
            words >> name;
            case_file::SetArguments(bases[name], words);
            continue;
        }
        const bool extended = word == "extended";
        if (extended) {
            words >> word;
        }
        std::string rule;
        std::string base;
        words >> rule >> base;
        Request request = bases.at(base);
        case_file::Results results;
        bool about_results = false;
        for (std::string change; words >> change;) {
            const auto [name, text] = case_file::ParseWord(change);
            if (case_file::SetResult(results, name, text)) {
                about_results = true;
            } else {
                case_file::SetArgument(request, name, text);
            }
        }
        const StatusCode code = CodeOf(word);
        const Contract contract = extended ? Contract::kExtended : Contract::kDocument;
        if (about_results) {
            CheckResults(request, contract, results, code, rule, line);
        } else {
            CheckCase(request, contract, code, rule, line);
        }
        if (code == StatusCode::kInvalidParameter) {
            refused.insert(rule);
        }
    }
    return refused;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: test_op_host_rules CASES SOURCES\n";
        return 2;
    }
    const std::set<std::string> refused = RunFile(argv[1]);
    const std::set<std::string> rules = RulesInSources(argv[2]);
    CHECK(rules.size() > 100);
    for (const std::string& rule : rules) {
        CHECK_CONTEXT(refused.count(rule) == 1, rule + " is checked, but no case breaks it");
    }
    return check::Result();
}
