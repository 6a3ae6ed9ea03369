// SPDX-License-Identifier: Apache-2.0
// A torch operator that takes what the workspace helper takes, by the same schemas, and does nothing with it: what
// torch itself costs. Loaded by scripts/bench_host.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <memory>
#include <optional>
#include <string>

#include "torch/arguments.h"

namespace ascend_attention::torch_door {
namespace {

using torch::stable::Tensor;

// Takes each argument off the stack, whose owner we are, and lets go of it.
class Discard {
public:
    Discard(const Overload& overload, StableIValue* stack) : overload_(overload), stack_(stack) {}

    void operator()(const char*, const OptionalTensor&) {
        if (count_++ >= kPositionalArguments) {
            stack_.Read<std::optional<Tensor>>();
        } else if (Tensor tensor = stack_.Read<Tensor>(); count_ == 1) {
            query_ = tensor;
        }
    }
    void operator()(const char*, const OptionalLengths&) {  // without a look at the entries
        if (overload_.lengths == LengthKind::kTensor) {
            stack_.Read<std::optional<Tensor>>();
        } else if (const auto list = stack_.Read<std::optional<StableListHandle>>()) {
            TORCH_ERROR_CODE_CHECK(torch_delete_list(*list));
        }
    }
    template <class Field>
    void operator()(const char*, const Field&) {
        stack_.Read<Field>();
    }

    const Tensor& query() const { return query_; }

private:
    const Overload& overload_;
    StackReader stack_;
    int count_ = 0;
    Tensor query_;
};

template <std::size_t index>
void Empty(StableIValue* stack, std::uint64_t, std::uint64_t) {
    static const FusedInferAttentionScoreV2Request names;
    Discard discard(kOverloads[index], stack);
    VisitArguments(names, discard);
    stack[0] = torch::stable::detail::from(discard.query());
}

std::string Schema(const Overload& overload) {
    SchemaWriter writer(overload, FusedInferAttentionScoreV2Request::kStated);
    const FusedInferAttentionScoreV2Request defaults;
    VisitArguments(defaults, writer);
    return Qualified("empty", overload.name) + "(" + writer.text() + ") -> Tensor";
}

}  // namespace
}  // namespace ascend_attention::torch_door

STABLE_TORCH_LIBRARY(ascend_attention_bench, library) {
    using namespace ascend_attention::torch_door;
    library.def(Schema(kOverloads[0]).c_str());
    library.def(Schema(kOverloads[1]).c_str());
}

STABLE_TORCH_LIBRARY_IMPL(ascend_attention_bench, CPU, library) {
    using namespace ascend_attention::torch_door;
    library.impl("empty", &Empty<0>);
    library.impl(Qualified("empty", kOverloads[1].name).c_str(), &Empty<1>);
}
