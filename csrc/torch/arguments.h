// SPDX-License-Identifier: Apache-2.0
// From torch's boxed stack to a request, through the stable ABI, following the operator's one list of arguments.
#pragma once

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/lengths.h"
#include "common/status.h"
#include "common/tensor.h"
#include "torch/overloads.h"

namespace ascend_attention::torch_door {

// The three tensors that the document wants by position; everything behind them is keyword-only.
inline constexpr int kPositionalArguments = 3;

// The arguments that an overload with lists of tensors takes as such.
inline bool IsListed(const Overload& overload, const char* name) {
    return overload.tensor_lists && (std::strcmp(name, "key") == 0 || std::strcmp(name, "value") == 0);
}

// Writes "Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, ..." with the request's own defaults.
// `stated`: keyword arguments without a default.
class SchemaWriter {
public:
    SchemaWriter(const Overload& overload, std::initializer_list<const char*> stated)
        : overload_(overload), stated_(stated) {}

    void operator()(const char* name, const OptionalTensor&) {
        const bool positional = count_ < kPositionalArguments;
        const char* type = IsListed(overload_, name) ? "Tensor[]" : "Tensor";
        Add(positional ? type : "Tensor?", name, positional ? "" : "None");
    }
    void operator()(const char* name, const OptionalLengths&) {
        Add(overload_.lengths == LengthKind::kList ? "SymInt[]?" : "Tensor?", name, "None");
    }
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

    const Overload& overload_;
    std::initializer_list<const char*> stated_;
    int count_ = 0;
    std::string text_;
};

// A tensor argument, the name that a refusal calls it by ("query", "key[3]"), and the view of it in the request, which
// is filled once every argument has been taken.
struct TensorArgument {
    std::string name;
    torch::stable::Tensor tensor;
    TensorView* view;
};

// Lengths in a tensor, and where in the request they go.
struct LengthTensor {
    const char* name;
    torch::stable::Tensor tensor;
    OptionalLengths* lengths;
};

// A request and the references that keep its tensors alive. (Hidden, as the ABI layer it holds is.)
template <class Request>
struct __attribute__((visibility("hidden"))) Arguments {
    Arguments() = default;
    Arguments(const Arguments&) = delete;  // the rest points into the request
    Arguments& operator=(const Arguments&) = delete;

    Request request;
    std::vector<TensorArgument> tensors;
    std::vector<LengthTensor> lengths;
};

// Takes arguments off the stack, in order. Every argument must be taken, also when the call is going to be refused:
// the stack hands over ownership.
class StackReader {
public:
    explicit StackReader(StableIValue* stack) : next_(stack) {}

    template <class Request>
    void ReadRequest(const Overload& overload, Arguments<Request>* arguments);
    template <class T>
    T Read() {
        return torch::stable::detail::to<T>(*next_++);
    }

private:
    StableIValue* next_;
};

// (Torch's own conversion never frees a string that it made.)
template <>
inline std::string StackReader::Read<std::string>() {
    struct DeleteString {
        void operator()(StringHandle text) const { torch_delete_string(text); }
    };
    const std::unique_ptr<std::remove_pointer_t<StringHandle>, DeleteString> text(Read<StringHandle>());
    std::size_t length = 0;
    const char* characters = nullptr;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_string_length(text.get(), &length));
    STABLE_TORCH_ERROR_CODE_CHECK(torch_string_c_str(text.get(), &characters));
    return {characters, length};
}

// Visitor that fills a request from the stack. Refuses nothing: there may be arguments left to take.
class RequestReader {
public:
    RequestReader(const Overload& overload, StackReader* stack, std::vector<TensorArgument>* tensors,
                  std::vector<LengthTensor>* lengths)
        : overload_(overload), stack_(*stack), tensors_(*tensors), lengths_(*lengths) {}

    void operator()(const char* name, OptionalTensor& field);
    void operator()(const char* name, OptionalLengths& field);
    template <class Field>
    void operator()(const char*, Field& field) {
        field = stack_.Read<Field>();
    }
    // For VisitTensorLists, which comes last.
    void operator()(const char* name, OptionalTensorList& list, const OptionalTensor&);

private:
    const Overload& overload_;
    StackReader& stack_;
    std::vector<TensorArgument>& tensors_;
    std::vector<LengthTensor>& lengths_;
    std::vector<std::pair<const char*, std::vector<torch::stable::Tensor>>> lists_;
    int count_ = 0;
};

template <class Request>
void StackReader::ReadRequest(const Overload& overload, Arguments<Request>* arguments) {
    constexpr std::size_t kUsual = 8;
    arguments->tensors.reserve(kUsual);
    RequestReader reader(overload, this, &arguments->tensors, &arguments->lengths);
    VisitArguments(arguments->request, reader);
    if constexpr (kHasTensorLists<Request>) {
        VisitTensorLists(arguments->request, reader);
    }
}

// Throws doors::Refusal.
void Refuse(const char* op, const char* rule, const std::string& name, const std::string& given,
            const std::string& allowed);
// Refuses None, and tensors whose elements are not in this process' memory.
void RefuseUnreadable(const char* op, const std::string& name, const torch::stable::Tensor& tensor);
TensorView ToView(const torch::stable::Tensor& tensor);
// The elements of a tensor of integers with one dimension; every other is refused.
Lengths ReadLengths(const char* op, const char* name, const torch::stable::Tensor& tensor);

}  // namespace ascend_attention::torch_door
