// SPDX-License-Identifier: Apache-2.0
// Every rule of the conformance files: the request that breaks it is refused under its id, its neighbour is not.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "api.h"
#include "block_sparse_attention_v2/arguments.h"
#include "block_sparse_attention_v2/check.h"
#include "cpp/check.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/rules.h"
#include "op_host/case_file.h"
#include "prompt_flash_attention/arguments.h"
#include "prompt_flash_attention/check.h"

namespace {

using namespace ascend_attention;

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

// What is asked of each operator; the names of its rules are all that differs.
template <class RequestType>
struct OperatorOf {
    using Request = RequestType;
    using Outputs = AttentionOutputs;

    static Status Infer(const Request& request, const Soc& soc, Contract contract, Outputs* outputs) {
        return InferOutputs(request, soc, contract, outputs);
    }
    static Status PlanFor(const Request& request, const Soc& soc, Contract contract) {
        Prepared prepared;
        return Prepare(request, soc, contract, &prepared);
    }
    // Results that a case does not give are as inferred.
    static Status Accept(const Request& request, const Outputs& outputs, const case_file::Results& results) {
        const auto fitting = [](const std::optional<TensorView>& given, const OutputSpec& spec) {
            return given ? *given : MakeTensorView(nullptr, NameOf(spec.dtype), spec.shape, true);
        };
        return CheckOutputs(request, outputs, fitting(results.attention_out, outputs.attention_out),
                            Request::kHasLse ? fitting(results.softmax_lse, outputs.softmax_lse) : TensorView());
    }
};

struct FusedInferAttentionScoreV2 : OperatorOf<FusedInferAttentionScoreV2Request> {
    static constexpr const char* kCatalogue = "FIA";
    static fia_v2::Scene MakeScene(const Request& request, const Soc&, Contract contract) {
        return {request, contract};
    }
    static const RuleGroups<fia_v2::Scene>& Scopes() { return fia_v2::ScopesOfRules(); }
};

struct PromptFlashAttention : OperatorOf<PromptFlashAttentionRequest> {
    static constexpr const char* kCatalogue = "PFA";
    static pfa::Scene MakeScene(const Request& request, const Soc& soc, Contract contract) {
        return {request, soc, contract};
    }
    static const RuleGroups<pfa::Scene>& Scopes() { return pfa::ScopesOfRules(); }
};

struct BlockSparseAttentionV2 : OperatorOf<BlockSparseAttentionV2Request> {
    static constexpr const char* kCatalogue = "BSA";
    static bsa_v2::Scene MakeScene(const Request& request, const Soc& soc, Contract) { return {request, soc}; }
    static const RuleGroups<bsa_v2::Scene>& Scopes() { return bsa_v2::ScopesOfRules(); }
};

// One line of a file.
template <class Operator>
struct Case {
    typename Operator::Request request;
    case_file::Results results;  // the caller's own; one that is not given fits
    Soc soc = DefaultSoc();
    Contract contract = Contract::kDocument;
    StatusCode wanted = StatusCode::kOk;
    std::string rule;
    std::string text;  // that the refusal must contain
    std::string line;

    static Soc DefaultSoc() {
        Soc soc;
        CHECK(FindSoc("Ascend910B2", &soc).ok());
        return soc;
    }
    void Set(const std::string& word) {
        const auto [name, value] = case_file::ParseWord(word);
        if (name == "soc") {
            CHECK_CONTEXT(FindSoc(value, &soc).ok(), line);
        } else if (!case_file::SetResult(results, name, value)) {
            case_file::SetArgument(request, name, value);
        }
    }
};

template <class Operator>
void CheckResults(const Case<Operator>& test) {
    typename Operator::Outputs outputs;
    const Status inferred = Operator::Infer(test.request, test.soc, test.contract, &outputs);
    CHECK_CONTEXT(inferred.ok(), test.line + "\n    -> " + inferred.Text());
    const Status status = Operator::Accept(test.request, outputs, test.results);
    const std::string context = test.line + "\n    -> " + status.Text();
    CHECK_EQ_CONTEXT(status.code_number(), int32_t(test.wanted), context);
    if (!status.ok()) {
        CHECK_EQ_CONTEXT(status.rule, test.rule, context);
        CHECK_EQ_CONTEXT(status.argument, std::string(test.results.attention_out ? "attention_out" : "softmax_lse"),
                         context);
        CHECK_CONTEXT(!status.given.empty() && !status.allowed.empty(), context);
    }
}

template <class Operator>
void CheckCase(const Case<Operator>& test) {
    typename Operator::Outputs outputs;
    outputs.attention_out.shape = {-7};
    const Status status = Operator::Infer(test.request, test.soc, test.contract, &outputs);
    const std::string context = test.line + "\n    -> " + status.Text();
    CHECK_EQ_CONTEXT(status.code_number(), int32_t(test.wanted), context);
    CHECK_CONTEXT(status.Text().find(test.text) != std::string::npos, context);
    if (test.wanted == StatusCode::kOk) {
        CHECK_CONTEXT(outputs.attention_out.shape != Shape{-7}, context);
        return;
    }
    CHECK_EQ_CONTEXT(status.rule, test.wanted == StatusCode::kNotSupported ? "NOT-YET" : test.rule, context);
    CHECK_CONTEXT(outputs.attention_out.shape == Shape{-7}, context);  // a refusal has changed nothing
    // Everything a person needs is there, in the one text that all doors print.
    for (const std::string& part : {status.op, status.argument, status.given, status.allowed, status.rule}) {
        CHECK_CONTEXT(!part.empty() && status.Text().find(part) != std::string::npos, context);
    }
    CHECK_EQ_CONTEXT(Operator::PlanFor(test.request, test.soc, test.contract).Text(), status.Text(), context);
}

// Does the table of scopes, which explains requests, say that a broken rule concerns the request?
template <class Operator>
bool InScope(const Case<Operator>& test) {
    auto scene = Operator::MakeScene(test.request, test.soc, test.contract);
    const std::string catalogue = std::string(Operator::kCatalogue) + "-C";
    if (test.rule.rfind(catalogue, 0) != 0 || CheckDocument(scene).ok()) {
        return true;  // an argument's own rule, or one about results
    }
    const int number = std::stoi(test.rule.substr(catalogue.size()));
    const auto& groups = Operator::Scopes();
    return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
        return std::count(group.numbers.begin(), group.numbers.end(), number) != 0 && group.applies(scene);
    });
}

// Rule ids that the sources can refuse with: "FIA-C12" in quotes. (std::regex would be half the time to compile this.)
std::set<std::string> RulesInSources(const std::string& directory, const std::string& catalogue) {
    std::set<std::string> rules;
    const std::string opening = "\"" + catalogue + "-";
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(entry.path());
        const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        for (size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at + 1)) {
            const size_t letters = at + opening.size();
            const size_t digits = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ", letters);
            const size_t closing = text.find_first_not_of("0123456789", digits);
            if (letters < digits && digits < closing && closing < text.size() && text[closing] == '"') {
                rules.insert(text.substr(at + 1, closing - at - 1));
            }
        }
    }
    return rules;
}

template <class Operator>
std::set<std::string> RunFile(const std::string& path) {
    std::ifstream file(path);
    std::map<std::string, Case<Operator>> bases;
    std::set<std::string> refused;
    for (std::string line; std::getline(file, line);) {
        const std::string whole = line;
        const std::string text = case_file::TakeExpectedText(line);
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word[0] == '#') {
            continue;
        }
        if (word == "base") {
            std::string name;
            words >> name;
            while (words >> word) {
                bases[name].Set(word);
            }
            continue;
        }
        const bool extended = word == "extended";
        if (extended) {
            words >> word;
        }
        std::string rule;
        std::string base;
        words >> rule >> base;
        Case<Operator> test = bases.at(base);
        test.wanted = CodeOf(word);
        test.contract = extended ? Contract::kExtended : Contract::kDocument;
        test.rule = rule;
        test.text = text;
        test.line = whole;
        while (words >> word) {
            test.Set(word);
        }
        if (test.results.attention_out || test.results.softmax_lse) {
            CheckResults(test);
        } else {
            CheckCase(test);
        }
        if (test.wanted == StatusCode::kInvalidParameter || test.wanted == StatusCode::kNullPointer) {
            refused.insert(rule);
            CHECK_CONTEXT(InScope(test), test.line);
        }
    }
    return refused;
}

template <class Operator>
void RunOperator(const std::string& cases, const std::string& sources) {
    const std::set<std::string> refused = RunFile<Operator>(cases);
    const std::set<std::string> rules = RulesInSources(sources, Operator::kCatalogue);
    CHECK(rules.size() > 20);
    for (const std::string& rule : rules) {
        CHECK_CONTEXT(refused.count(rule) == 1, rule + " is checked, but no case breaks it");
    }
    for (const auto& group : Operator::Scopes()) {
        for (const int number : group.numbers) {
            const std::string rule = std::string(Operator::kCatalogue) + "-C" + std::to_string(number);
            CHECK_CONTEXT(refused.count(rule) == 1, rule + " is explained as checked, but no case breaks it");
        }
    }
}

}  // namespace

// The directory of the cases and that of op_host.
int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: test_op_host_rules CONFORMANCE OP_HOST\n";
        return 2;
    }
    const std::string cases = argv[1];
    const std::string sources = argv[2];
    RunOperator<FusedInferAttentionScoreV2>(cases + "/fia_v2_rules.txt", sources + "/fused_infer_attention_score_v2");
    RunOperator<PromptFlashAttention>(cases + "/pfa_rules.txt", sources + "/prompt_flash_attention");
    RunOperator<BlockSparseAttentionV2>(cases + "/bsa_v2_rules.txt", sources + "/block_sparse_attention_v2");
    return check::Result();
}
