// SPDX-License-Identifier: Apache-2.0
// From torch's boxed stack to a request, through the stable ABI, following the operator's one list of arguments.
#pragma once

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "block_sparse_attention_v2/arguments.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "prompt_flash_attention/arguments.h"

namespace ascend_attention::torch_door {

// The three tensors that the document wants by position; everything behind them is keyword-only.
inline constexpr int kPositionalArguments = 3;

// How torch reads lengths from Python. For each entry of SymInt[] it asks whether that is a symbol of a compiled graph,
// which takes four times as long as int[] does; an int[] cannot hold one.
inline constexpr const char* kSymbolicLengths = "SymInt[]?";
inline constexpr const char* kPlainLengths = "int[]?";

// Writes "Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, ..." with the request's own defaults.
// `stated`: keyword arguments without a default.
class SchemaWriter {
public:
    SchemaWriter(const char* lengths, std::initializer_list<const char*> stated) : lengths_(lengths), stated_(stated) {}

    void operator()(const char* name, const OptionalTensor&) {
        const bool positional = count_ < kPositionalArguments;
        Add(positional ? "Tensor" : "Tensor?", name, positional ? "" : "None");
    }
    void operator()(const char* name, const OptionalLengths&) { Add(lengths_, name, "None"); }
    void operator()(const char* name, const std::optional<std::int64_t>&) { Add("int?", name, "None"); }
    void operator()(const char* name, std::int64_t value) { Add("int", name, std::to_string(value)); }
    void operator()(const char* name, double value) { Add("float", name, std::to_string(value)); }
    void operator()(const char* name, bool value) { Add("bool", name, value ? "True" : "False"); }
    void operator()(const char* name, const std::string& value) { Add("str", name, "\"" + value + "\""); }

    const std::string& text() const { return text_; }

private:
    void Add(const std::string& type, const std::string& name, const std::string& default_value) {
        text_ += count_ == 0 ? "" : ", ";
        text_ += count_ == kPositionalArguments ? "*, " : "";
        const bool stated = std::find(stated_.begin(), stated_.end(), name) != stated_.end();
        text_ += type + " " + name + (default_value.empty() || stated ? "" : "=" + default_value);
        ++count_;
    }

    const char* lengths_;
    std::initializer_list<const char*> stated_;
    int count_ = 0;
    std::string text_;
};

TensorView ToView(const torch::stable::Tensor& tensor);

// A request and the references that keep its tensors alive. (Hidden, as the ABI layer it holds is.)
template <class Request>
struct __attribute__((visibility("hidden"))) Arguments {
    Request request;
    std::vector<std::pair<std::string, torch::stable::Tensor>> tensors;
};

// Takes arguments off the stack, in order. Every argument must be taken, also when the call is going to be refused:
// the stack hands over ownership.
class StackReader {
public:
    explicit StackReader(StableIValue* stack) : next_(stack) {}

    template <class Request>
    Arguments<Request> ReadRequest();
    template <class T>
    T Read() {
        return torch::stable::detail::to<T>(*next_++);
    }

private:
    StableIValue* next_;
};

// Visitor that fills a request from the stack.
class RequestReader {
public:
    using Tensors = std::vector<std::pair<std::string, torch::stable::Tensor>>;

    RequestReader(StackReader& stack, Tensors& tensors) : stack_(stack), tensors_(tensors) {}

    void operator()(const char* name, OptionalTensor& field);
    void operator()(const char*, OptionalLengths& field) {
        field = stack_.Read<std::optional<std::vector<std::int64_t>>>();
    }
    template <class Field>
    void operator()(const char*, Field& field) {
        field = stack_.Read<Field>();
    }

private:
    StackReader& stack_;
    Tensors& tensors_;
    int count_ = 0;
};

template <class Request>
Arguments<Request> StackReader::ReadRequest() {
    Arguments<Request> arguments;
    VisitArguments(arguments.request, RequestReader(*this, arguments.tensors));
    return arguments;
}

}  // namespace ascend_attention::torch_door
