// SPDX-License-Identifier: Apache-2.0
// Requests nobody would write: bases of the conformance files with any argument changed in any way its type allows, up
// to dimensions near 2^63. Whatever comes in, the answer is a verdict of the document with its rule, never a failed
// plan; under the sanitizers this also shows that no number overflows and nothing is read that is not there.
//   test_op_host_fuzz CONFORMANCE [--requests N] [--seed S]
// S is a number, or "random"; it is printed, so that a run can be repeated.
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <random>

#include "api.h"
#include "block_sparse_attention_v2/arguments.h"
#include "cpp/check.h"
#include "op_host/case_file.h"
#include "prompt_flash_attention/arguments.h"

namespace {

using namespace ascend_attention;
using case_file::OptionalLengths;
using case_file::OptionalTensor;
using Random = std::mt19937_64;

// What tells one operator from another here; one such struct per operator.
template <class AnyRequest>
struct Operator {
    using Request = AnyRequest;

    // The verdict; `sound` says whether an accepted request has a plan or a filled result.
    static Status Decide(const Request& request, const Soc& soc, Contract contract, bool* sound) {
        Prepared prepared;
        const Status status = Prepare(request, soc, contract, &prepared);
        *sound = prepared.launch ? prepared.plan.block_count >= 1 : prepared.outputs.attention_out.fill.has_value();
        return status;
    }
    static Status Describe(const Request& request, const Soc& soc, Contract contract, std::string* text) {
        return Explain(request, soc, contract, text);
    }
};
struct FusedInferAttentionScoreV2 : Operator<FusedInferAttentionScoreV2Request> {
    static constexpr const char* kCases = "fia_v2_rules.txt";
};
struct PromptFlashAttention : Operator<PromptFlashAttentionRequest> {
    static constexpr const char* kCases = "pfa_rules.txt";
};
struct BlockSparseAttentionV2 : Operator<BlockSparseAttentionV2Request> {
    static constexpr const char* kCases = "bsa_v2_rules.txt";
};

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kNumbers[] = {0,          1,          -1,         2,          3,
                                4,          7,          8,          16,         64,
                                128,        256,        512,        1024,       2048,
                                65535,      65536,      -2048,      2097152,    -7,
                                kMax,       kMin,       kMin + 1,   kMax / 2,   kMax / 2 + 1,
                                2147483647, 2147483648, 4294967296, 3037000500, int64_t(1) << 40};
constexpr double kReals[] = {0,
                             -1,
                             1e-300,
                             3.4e38,
                             3.5e38,
                             -1e300,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
constexpr DType kTypes[] = {DType::kFloat16, DType::kBFloat16,     DType::kFloat32, DType::kFloat64, DType::kInt8,
                            DType::kUInt8,   DType::kInt16,        DType::kInt32,   DType::kInt64,   DType::kBool,
                            DType::kUInt64,  DType::kFloat8E4M3FN, DType::kOther};
constexpr const char* kTexts[] = {"BSH", "BSND",    "BNSD",    "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD",
                                  "TND", "TND_NTD", "NTD_TND", "",          "bsh",      "\xff\x80",  "NTD"};

template <class List>
auto PickFrom(Random& random, const List& list) {
    return list[random() % std::size(list)];
}

// Visitor that changes the argument number `target` in a way its type allows.
class Mutator {
public:
    Mutator(Random& random, unsigned target, const std::vector<TensorView>& tensors, std::string& story)
        : random_(random), target_(target), tensors_(tensors), story_(story) {}

    template <class Field>
    void operator()(const char* name, Field& field) {
        if (index_++ == target_) {
            story_ += std::string(" ") + name + "=";
            Change(field);
        }
    }

    void operator()(const char* name, OptionalTensorList& list, OptionalTensor& tensor) {
        if (index_++ == target_) {
            story_ += std::string(" ") + name + " as a list ";
            ChangeList(list, tensor);
        }
    }

private:
    void ChangeList(OptionalTensorList& list, OptionalTensor& tensor) {
        if (!list) {  // the tensor once more for each of some sequences
            TensorView entry = tensor ? *tensor : PickFrom(random_, tensors_);
            if (!entry.shape.empty()) {
                entry.shape[0] = 1;
            }
            list.emplace(random_() % 4, entry);
            tensor.reset();
        } else if (list->empty() || random_() % 4 == 0) {
            list->push_back(PickFrom(random_, tensors_));
        } else if (random_() % 4 == 0) {
            list->pop_back();
        } else {
            OptionalTensor entry = PickFrom(random_, *list);
            Change(entry);
            (*list)[random_() % list->size()] = entry.value_or(TensorView());
        }
        story_ += TensorListText(*list);
    }
    void Change(OptionalTensor& tensor) {
        const unsigned kind = random_() % 8;
        if (kind == 0) {
            tensor.reset();
        } else if (kind == 1 || !tensor) {  // some other argument's tensor
            tensor = PickFrom(random_, tensors_);
        } else if (kind == 2) {
            tensor->dtype = PickFrom(random_, kTypes);
        } else if (kind == 3) {
            tensor->contiguous = random_() % 4 != 0;
        } else if (kind == 4) {
            tensor->shape.resize(random_() % 7, PickFrom(random_, kNumbers));
        } else if (!tensor->shape.empty()) {
            for (unsigned count = 1 + random_() % 2; count > 0; --count) {
                tensor->shape[random_() % tensor->shape.size()] = ChangedNumber(PickFrom(random_, tensor->shape));
            }
        }
        story_ += tensor ? DTypeText(*tensor) + ShapeText(tensor->shape) : "None";
    }
    void Change(OptionalLengths& lengths) {
        const unsigned kind = random_() % 6;
        if (kind == 0) {
            lengths.reset();
        } else if (kind == 1 || !lengths) {
            lengths.emplace(random_() % 5, PickFrom(random_, kNumbers));
        } else if (kind == 2) {
            lengths->resize(random_() % 6, PickFrom(random_, kNumbers));
        } else if (!lengths->empty()) {
            int64_t& entry = (*lengths)[random_() % lengths->size()];
            entry = ChangedNumber(entry);
        }
        story_ += lengths ? ShapeText(*lengths) : "None";
    }
    void Change(int64_t& number) { story_ += std::to_string(number = ChangedNumber(number)); }
    void Change(std::optional<int64_t>& number) {
        number = PickFrom(random_, kNumbers);
        story_ += std::to_string(*number);
    }
    void Change(double& number) { story_ += std::to_string(number = PickFrom(random_, kReals)); }
    void Change(bool& flag) { story_ += (flag = !flag) ? "true" : "false"; }
    void Change(std::string& text) { story_ += text = PickFrom(random_, kTexts); }

    // A neighbour, or something extreme.
    int64_t ChangedNumber(int64_t number) {
        switch (random_() % 6) {
            case 0:
                return number == kMax ? number : number + 1;
            case 1:
                return number == kMin ? number : number - 1;
            case 2:
                return number > kMax / 2 || number < kMin / 2 ? number : number * 2;
            case 3:
                return number / 2;
            default:
                return PickFrom(random_, kNumbers);
        }
    }

    Random& random_;
    unsigned target_;
    unsigned index_ = 0;
    const std::vector<TensorView>& tensors_;
    std::string& story_;
};

struct TensorCollector {
    std::vector<TensorView>* tensors;
    unsigned* arguments;
    void operator()(const char*, const OptionalTensor& tensor) {
        ++*arguments;
        if (tensor) {
            tensors->push_back(*tensor);
        }
    }
    void operator()(const char*, const OptionalTensorList&, const OptionalTensor&) { ++*arguments; }
    template <class Other>
    void operator()(const char*, const Other&) {
        ++*arguments;
    }
};

template <class Operator>
class Fuzz {
public:
    using Request = typename Operator::Request;

    explicit Fuzz(const std::string& directory) {
        std::ifstream file(directory + "/" + Operator::kCases);
        std::map<std::string, Request> bases;
        for (std::string line; std::getline(file, line);) {
            case_file::TakeExpectedText(line);
            std::istringstream words(line);
            std::string verdict;
            if (!(words >> verdict) || verdict[0] == '#') {
                continue;
            }
            // A base, or a case: its request as it stands is where mutations begin.
            std::string word = verdict == "extended" ? "" : verdict;
            std::string name;
            if (verdict == "base") {
                words >> name;
                requests_.push_back(bases[name] = Changed({}, words));
                continue;
            }
            while (word != "accept" && word != "refuse" && word != "later" && word != "null") {
                words >> word;
            }
            words >> word >> name;
            requests_.push_back(Changed(bases.at(name), words));
        }
        for (const Request& request : requests_) {
            argument_count_ = 0;
            TensorCollector collector{&tensors_, &argument_count_};
            VisitArguments(request, collector);
            if constexpr (case_file::kTakesLists<Request>) {
                VisitTensorLists(request, collector);
            }
        }
    }

    void Run(uint64_t seed, long rounds) {
        Random random(seed);
        long accepted = 0;
        long later = 0;
        for (long round = 0; round < rounds; ++round) {
            std::string story = "seed " + std::to_string(seed) + ", round " + std::to_string(round) + ":";
            const Request request = Mutated(random, &story);
            const Contract contract = random() % 2 ? Contract::kDocument : Contract::kExtended;
            const std::vector<Soc>& socs = random() % 8 == 0 ? CheckedSocs() : KnownSocs();
            const Soc& soc = socs[random() % socs.size()];
            bool sound = false;
            const Status status = Operator::Decide(request, soc, contract, &sound);
            CHECK_CONTEXT(status.code != StatusCode::kInternal, story + "\n    -> " + status.Text());
            std::string text;
            const Status described = Operator::Describe(request, soc, contract, &text);
            if (status.ok() || status.code == StatusCode::kNotSupported) {
                accepted += status.ok();
                later += !status.ok();
                CHECK_CONTEXT(!status.ok() || sound, story);
                CHECK_CONTEXT(described.ok() ? !text.empty() : described.Text() == status.Text(),
                              story + "\n    -> " + described.Text());
                continue;
            }
            CHECK_CONTEXT(!status.rule.empty() && !status.given.empty() && !status.allowed.empty(), story);
            CHECK_CONTEXT(status.Text() == described.Text(), story + "\n    -> " + described.Text());
        }
        std::cout << Operator::kCases << ": " << rounds << " requests, " << accepted << " accepted, " << later
                  << " later\n";
        CHECK_CONTEXT(accepted + later > rounds / 20, std::to_string(accepted + later));
    }

private:
    static Request Changed(Request request, std::istringstream& words) {
        for (std::string word; words >> word;) {
            const auto [name, text] = case_file::ParseWord(word);
            case_file::Results results;
            if (name != "soc" && !case_file::SetResult(results, name, text)) {
                case_file::SetArgument(request, name, text);
            }
        }
        return request;
    }

    Request Mutated(Random& random, std::string* story) {
        const size_t from = random() % requests_.size();
        Request request = requests_[from];
        *story += " case " + std::to_string(from);
        for (unsigned changes = random() % 4; changes > 0; --changes) {
            Mutator mutator(random, unsigned(random() % argument_count_), tensors_, *story);
            VisitArguments(request, mutator);
            if constexpr (case_file::kTakesLists<Request>) {
                VisitTensorLists(request, mutator);
            }
        }
        return request;
    }

    std::vector<Request> requests_;
    std::vector<TensorView> tensors_;
    unsigned argument_count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    long requests = 100000;
    uint64_t seed = 20261130;  // the suite does the same in every run
    for (int i = 2; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--requests") == 0) {
            requests = std::stol(argv[i + 1]);
        } else if (std::strcmp(argv[i], "--seed") == 0) {
            seed = std::strcmp(argv[i + 1], "random") == 0 ? std::random_device{}() : std::stoull(argv[i + 1]);
        } else {
            argc = 0;
        }
    }
    if (argc < 2 || argc % 2 != 0) {
        std::cerr << "usage: test_op_host_fuzz CONFORMANCE [--requests N] [--seed S|random]\n";
        return 2;
    }
    std::cout << "seed " << seed << "\n";
    // Half of them for the operator with most rules.
    Fuzz<FusedInferAttentionScoreV2>(argv[1]).Run(seed, requests / 2);
    Fuzz<PromptFlashAttention>(argv[1]).Run(seed, requests / 4);
    Fuzz<BlockSparseAttentionV2>(argv[1]).Run(seed, requests / 4);
    return check::Result();
}
