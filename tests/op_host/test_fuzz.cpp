// SPDX-License-Identifier: Apache-2.0
// Requests nobody would write: bases of the conformance file with arguments taken from anywhere in it, or from a pool
// of extreme values. Whatever comes in, the answer is a verdict of the document with its rule, never a failed plan;
// under the sanitizers this also shows that no number overflows on the way.
#include <fstream>
#include <map>
#include <random>

#include "api.h"
#include "cpp/check.h"
#include "op_host/case_file.h"

namespace {

using namespace ascend_attention;
using case_file::Request;

struct Pool {
    std::vector<Request> bases;
    std::vector<std::pair<std::string, std::string>> arguments;
};

constexpr const char* kNumbers[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "4",
                                    "7",
                                    "16",
                                    "64",
                                    "128",
                                    "256",
                                    "65536",
                                    "1024",
                                    "2097152",
                                    "2147483647",
                                    "-2048",
                                    "4611686018427387904",
                                    "9223372036854775807",
                                    "-9223372036854775808"};
constexpr const char* kNumberNames[] = {"num_query_heads", "num_key_value_heads", "pre_tokens",
                                        "next_tokens",     "sparse_mode",         "block_size",
                                        "inner_precise",   "key_quant_mode",      "value_quant_mode"};
constexpr const char* kShapes[] = {"[]",
                                   "[0]",
                                   "[1]",
                                   "[2,2]",
                                   "[1,1,1]",
                                   "[0,0,0]",
                                   "[2,0,256]",
                                   "[1,16,16]",
                                   "[2,32,4,0]",
                                   "[1,1,1,1]",
                                   "[1,1,1,1,1]",
                                   "[4611686018427387904,4,4]",
                                   "[2,9223372036854775807,256]",
                                   "[9223372036854775807,9223372036854775807,9223372036854775807]",
                                   "[2,4,9223372036854775807,64]",
                                   "[2,32,9223372036854775807]",
                                   "[-1,-1,-1]"};
constexpr const char* kTypes[] = {"float16", "bfloat16", "int8", "int32", "float32", "bool"};
constexpr const char* kTensorNames[] = {
    "query",      "key",         "value",           "query_rope",     "key_rope",          "pse_shift",
    "atten_mask", "block_table", "quant_scale_out", "learnable_sink", "dequant_scale_key", "dequant_scale_value"};

Pool ReadPool(const std::string& path) {
    Pool pool;
    std::map<std::string, Request> bases;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') {
            continue;
        }
        case_file::TakeExpectedText(line);
        const bool base = line.rfind("base ", 0) == 0;
        Request request;
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            if (word.find('=') == std::string::npos) {
                continue;
            }
            const auto [name, text] = case_file::ParseWord(word);
            if (name == "soc") {
                continue;
            }
            case_file::Results results;
            if (!case_file::SetResult(results, name, text)) {
                pool.arguments.emplace_back(name, text);
                if (base) {
                    case_file::SetArgument(request, name, text);
                }
            }
        }
        if (base) {
            pool.bases.push_back(request);
        }
    }
    return pool;
}

template <size_t N>
std::string Pick(std::mt19937& random, const char* const (&choices)[N]) {
    return choices[random() % N];
}

Request Mutate(std::mt19937& random, const Pool& pool, std::string* words) {
    Request request = pool.bases[random() % pool.bases.size()];
    for (unsigned changes = random() % 4; changes > 0; --changes) {
        std::pair<std::string, std::string> argument = pool.arguments[random() % pool.arguments.size()];
        const unsigned kind = random() % 4;
        if (kind == 0) {
            argument = {Pick(random, kNumberNames), Pick(random, kNumbers)};
        } else if (kind == 1) {
            argument = {Pick(random, kTensorNames), Pick(random, kTypes) + Pick(random, kShapes)};
            if (argument.first == "key") {
                case_file::SetArgument(request, "value", argument.second);
            }
        }
        *words += " " + argument.first + "=" + argument.second;
        case_file::SetArgument(request, argument.first, argument.second);
    }
    return request;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: test_op_host_fuzz CASES\n";
        return 2;
    }
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    const Pool pool = ReadPool(argv[1]);
    long accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string words;
        const Request request = Mutate(random, pool, &words);
        const Contract contract = random() % 2 ? Contract::kDocument : Contract::kExtended;
        Prepared prepared;
        const Status status = Prepare(request, KnownSocs()[random() % KnownSocs().size()], contract, &prepared);
        const std::string context = "seed " + std::to_string(seed) + words + "\n    -> " + status.Text();
        CHECK_CONTEXT(status.code != StatusCode::kInternal, context);
        if (!status.ok()) {
            CHECK_CONTEXT(!status.rule.empty() && !status.given.empty() && !status.allowed.empty(), context);
            continue;
        }
        ++accepted;
        CHECK_CONTEXT(
            prepared.launch ? prepared.plan.block_count >= 1 : prepared.outputs.attention_out.fill.has_value(),
            context);
    }
    CHECK_CONTEXT(accepted > 500, std::to_string(accepted));
    return check::Result();
}
