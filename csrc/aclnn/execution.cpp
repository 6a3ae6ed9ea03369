// SPDX-License-Identifier: Apache-2.0
#include "aclnn/execution.h"

#include <cstring>
#include <utility>

namespace ascend_attention::aclnn {
namespace {

// What a region of the workspace begins at: the alignment of device memory.
constexpr std::uint64_t kAlignment = 512;

std::uint64_t RoundUp(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// From a contiguous tensor to a strided one, axis by axis.
const char* Scatter(const TensorHandle& to, std::size_t axis, std::int64_t element_bytes, char* base,
                    const char* from) {
    if (axis == to.shape.size()) {
        std::memcpy(base, from, static_cast<std::size_t>(element_bytes));
        return from + element_bytes;
    }
    const bool rows = axis + 1 == to.shape.size() && to.strides[axis] == 1;
    if (rows) {
        const std::int64_t bytes = to.shape[axis] * element_bytes;
        std::memcpy(base, from, static_cast<std::size_t>(bytes));
        return from + bytes;
    }
    for (std::int64_t i = 0; i < to.shape[axis]; ++i) {
        from = Scatter(to, axis + 1, element_bytes, base + i * to.strides[axis] * element_bytes, from);
    }
    return from;
}

}  // namespace

std::int64_t Result::bytes() const {
    std::int64_t count = element_bytes;
    for (const std::int64_t dim : tensor.shape) {
        count *= dim;
    }
    return count;
}

Execution::Execution(const char* op, doors::AttentionCall call, const Result& attention_out, const Result* softmax_lse,
                     std::vector<NamedMemory> memory)
    : op_(op), call_(std::move(call)), attention_out_(attention_out), memory_(std::move(memory)) {
    if (softmax_lse != nullptr) {
        softmax_lse_ = *softmax_lse;
    }
    workspace_bytes_ = call_.workspace_bytes();
    for (Result* result : {&attention_out_, softmax_lse_.has_value() ? &*softmax_lse_ : nullptr}) {
        if (result != nullptr && !result->contiguous) {
            result->staged_at = RoundUp(workspace_bytes_);
            workspace_bytes_ = result->staged_at + static_cast<std::uint64_t>(result->bytes());
        }
    }
}

bool Execution::writes_anything() const {
    return attention_out_.bytes() > 0 || (softmax_lse_.has_value() && softmax_lse_->bytes() > 0);
}

void* Execution::AddressOf(const Result& result, void* workspace) const {
    return result.contiguous ? result.tensor.address : static_cast<char*>(workspace) + result.staged_at;
}

void Execution::Run(void* workspace) const {
    call_.Run(AddressOf(attention_out_, workspace),
              softmax_lse_.has_value() ? AddressOf(*softmax_lse_, workspace) : nullptr, workspace);
    for (const Result* result : {&attention_out_, softmax_lse_.has_value() ? &*softmax_lse_ : nullptr}) {
        if (result != nullptr && !result->contiguous && result->bytes() > 0) {
            Scatter(result->tensor, 0, result->element_bytes, static_cast<char*>(result->tensor.address),
                    static_cast<const char*>(AddressOf(*result, workspace)));
        }
    }
}

}  // namespace ascend_attention::aclnn
