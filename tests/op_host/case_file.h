// SPDX-License-Identifier: Apache-2.0
// Reads requests written as words: see tests/conformance/fia_v2_rules.txt.
#pragma once

#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fused_infer_attention_score_v2/request.h"

namespace case_file {

using ascend_attention::DTypeFromName;
using ascend_attention::TensorView;
using Request = ascend_attention::FusedInferAttentionScoreV2Request;

inline std::vector<int64_t> ParseNumbers(const std::string& text) {
    std::vector<int64_t> numbers;
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, ',');) {
        numbers.push_back(std::stoll(item));
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
    TensorView view;
    view.dtype = DTypeFromName(text.substr(0, open));
    view.shape = ParseNumbers(text.substr(open + 1, close - open - 1));
    view.contiguous = text.back() != '~';
    return view;
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

// Sets the argument `name` of `request` from its text.
inline void SetArgument(Request& request, const std::string& name, const std::string& text) {
    using Setter = std::function<void(Request&, const std::string&)>;
#define TENSOR(field)                                                              \
    {                                                                              \
        #field, [](Request& r, const std::string& t) { r.field = ParseTensor(t); } \
    }
#define LENGTHS(field)                                                              \
    {                                                                               \
        #field, [](Request& r, const std::string& t) { r.field = ParseLengths(t); } \
    }
#define NUMBER(field)                                                             \
    {                                                                             \
        #field, [](Request& r, const std::string& t) { r.field = std::stoll(t); } \
    }
    static const std::map<std::string, Setter> setters = {
        TENSOR(query),
        TENSOR(key),
        TENSOR(value),
        TENSOR(query_rope),
        TENSOR(key_rope),
        TENSOR(pse_shift),
        TENSOR(atten_mask),
        LENGTHS(actual_seq_qlen),
        LENGTHS(actual_seq_kvlen),
        TENSOR(block_table),
        TENSOR(dequant_scale_query),
        TENSOR(dequant_scale_key),
        TENSOR(dequant_offset_key),
        TENSOR(dequant_scale_value),
        TENSOR(dequant_offset_value),
        TENSOR(dequant_scale_key_rope),
        TENSOR(quant_scale_out),
        TENSOR(quant_offset_out),
        TENSOR(learnable_sink),
        NUMBER(num_query_heads),
        NUMBER(num_key_value_heads),
        {"softmax_scale", [](Request& r, const std::string& t) { r.softmax_scale = std::stod(t); }},
        NUMBER(pre_tokens),
        NUMBER(next_tokens),
        {"input_layout", [](Request& r, const std::string& t) { r.input_layout = t; }},
        NUMBER(sparse_mode),
        NUMBER(block_size),
        NUMBER(query_quant_mode),
        NUMBER(key_quant_mode),
        NUMBER(value_quant_mode),
        NUMBER(inner_precise),
        {"return_softmax_lse", [](Request& r, const std::string& t) { r.return_softmax_lse = t == "true"; }},
        NUMBER(query_dtype),
        NUMBER(key_dtype),
        NUMBER(value_dtype),
        NUMBER(query_rope_dtype),
        NUMBER(key_rope_dtype),
        NUMBER(key_shared_prefix_dtype),
        NUMBER(value_shared_prefix_dtype),
        NUMBER(dequant_scale_query_dtype),
        NUMBER(dequant_scale_key_dtype),
        NUMBER(dequant_scale_value_dtype),
        NUMBER(dequant_scale_key_rope_dtype),
    };
#undef TENSOR
#undef LENGTHS
#undef NUMBER
    const auto found = setters.find(name);
    if (found == setters.end()) {
        throw std::runtime_error("no such argument: " + name);
    }
    found->second(request, text);
}

// Applies "name=value" words to `request`.
inline void SetArguments(Request& request, std::istream& words) {
    for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos) {
            throw std::runtime_error("not argument=value: " + word);
        }
        SetArgument(request, word.substr(0, equals), word.substr(equals + 1));
    }
}

inline Request MakeRequest(const std::string& words) {
    Request request;
    std::istringstream in(words);
    SetArguments(request, in);
    return request;
}

}  // namespace case_file
