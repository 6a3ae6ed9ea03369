// SPDX-License-Identifier: Apache-2.0
// Reads requests written as words: see tests/conformance/fia_v2_rules.txt. For any operator whose request has a
// VisitArguments() with these types of fields.
#pragma once

#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fused_infer_attention_score_v2/arguments.h"

namespace case_file {

using ascend_attention::TensorView;
using OptionalTensor = std::optional<TensorView>;
using ascend_attention::OptionalTensorList;
using OptionalLengths = std::optional<std::vector<int64_t>>;
// The operator of the tests that are about one.
using Request = ascend_attention::FusedInferAttentionScoreV2Request;

template <class AnyRequest>
inline constexpr bool kTakesLists = std::is_same_v<AnyRequest, Request>;

inline std::vector<int64_t> ParseNumbers(const std::string& text) {
    std::vector<int64_t> numbers;
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, ',');) {
        const size_t times = item.find('*');
        const size_t count = times == std::string::npos ? 1 : std::stoul(item.substr(times + 1));
        numbers.insert(numbers.end(), count, std::stoll(item));
    }
    return numbers;
}

inline std::optional<TensorView> ParseTensor(const std::string& text) {
    if (text == "None") {
        return std::nullopt;
    }
    const size_t open = text.find('[');
    const size_t close = text.find(']');
    if (open == std::string::npos || close == std::string::npos) {
        throw std::runtime_error("not a tensor: " + text);
    }
    return ascend_attention::MakeTensorView(nullptr, text.substr(0, open),
                                            ParseNumbers(text.substr(open + 1, close - open - 1)), text.back() != '~');
}

// "[float16[1,2],float16[1,3]~]"
inline std::vector<TensorView> ParseTensorList(const std::string& text) {
    std::vector<TensorView> list;
    std::string rest = text.substr(1, text.size() - 2);
    while (!rest.empty()) {
        size_t end = rest.find(']');
        end = end == std::string::npos ? rest.size() : end + 1;
        end += end < rest.size() && rest[end] == '~' ? 1 : 0;
        list.push_back(*ParseTensor(rest.substr(0, end)));
        rest = end < rest.size() ? rest.substr(end + 1) : "";
    }
    return list;
}

inline std::optional<std::vector<int64_t>> ParseLengths(const std::string& text) {
    if (text == "None") {
        return std::nullopt;
    }
    if (text.front() != '{' || text.back() != '}') {
        throw std::runtime_error("not a list: " + text);
    }
    return ParseNumbers(text.substr(1, text.size() - 2));
}

// Visitor that sets the argument `name` from its text.
class ArgumentSetter {
public:
    ArgumentSetter(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

    template <class Field>
    void operator()(const char* name, Field& field) {
        if (name_ == name) {
            found_ = true;
            Set(field);
        }
    }
    // A list and its single tensor: "[float16[1,2],float16[1,3]]" is a list, anything else is not.
    void operator()(const char* name, OptionalTensorList& list, OptionalTensor& tensor) {
        if (name_ != name) {
            return;
        }
        list.reset();
        if (text_.front() == '[') {
            tensor.reset();
            list = ParseTensorList(text_);
        }
    }
    bool found() const { return found_; }

private:
    void Set(OptionalTensor& field) {
        if (text_.front() != '[') {
            field = ParseTensor(text_);
        }
    }
    void Set(OptionalLengths& field) { field = ParseLengths(text_); }
    void Set(std::optional<int64_t>& field) { field = std::stoll(text_); }
    void Set(int64_t& field) { field = std::stoll(text_); }
    void Set(double& field) { field = std::stod(text_); }
    void Set(bool& field) { field = text_ == "true"; }
    void Set(std::string& field) { field = text_; }

    std::string name_;
    std::string text_;
    bool found_ = false;
};

template <class AnyRequest>
void SetArgument(AnyRequest& request, const std::string& name, const std::string& text) {
    ArgumentSetter setter(name, text);
    VisitArguments(request, setter);  // found by the request's type
    if constexpr (kTakesLists<AnyRequest>) {
        VisitTensorLists(request, setter);
    } else if (text.front() == '[') {
        throw std::runtime_error("not a tensor: " + text);
    }
    if (!setter.found()) {
        throw std::runtime_error("no such argument: " + name);
    }
}

// The caller's own result tensors, of an out-variant.
struct Results {
    std::optional<TensorView> attention_out;
    std::optional<TensorView> softmax_lse;
};

// False when `name` is not a result.
inline bool SetResult(Results& results, const std::string& name, const std::string& text) {
    if (name != "attention_out" && name != "softmax_lse") {
        return false;
    }
    (name == "attention_out" ? results.attention_out : results.softmax_lse) = ParseTensor(text);
    return true;
}

// Splits "name=value".
inline std::pair<std::string, std::string> ParseWord(const std::string& word) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
        throw std::runtime_error("not argument=value: " + word);
    }
    return {word.substr(0, equals), word.substr(equals + 1)};
}

// Applies "name=value" words to `request`.
template <class AnyRequest>
void SetArguments(AnyRequest& request, std::istream& words) {
    for (std::string word; words >> word;) {
        const auto [name, text] = ParseWord(word);
        SetArgument(request, name, text);
    }
}

// A line without the text behind " ## " that the refusal must contain; that text, or "".
inline std::string TakeExpectedText(std::string& line) {
    const size_t mark = line.find(" ## ");
    if (mark == std::string::npos) {
        return "";
    }
    const std::string text = line.substr(mark + 4);
    line.resize(mark);
    return text;
}

inline Request MakeRequest(const std::string& words) {
    Request request;
    std::istringstream in(words);
    SetArguments(request, in);
    return request;
}

}  // namespace case_file
