// SPDX-License-Identifier: Apache-2.0
// What a first phase has planned and a second phase runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aclnn/runtime.h"
#include "doors/attention_call.h"

namespace ascend_attention::aclnn {

// A piece of memory that the caller said the kernel may use.
struct NamedMemory {
    std::string name;
    const void* address = nullptr;
    std::uint64_t bytes = 0;
};

// A result that the caller brings. The kernel writes contiguous ones only: others are written to the workspace first.
struct Result {
    TensorHandle tensor;
    std::int64_t element_bytes = 0;
    bool contiguous = true;
    std::uint64_t staged_at = 0;  // in the workspace, when not contiguous

    std::int64_t bytes() const;
};

class Execution {
public:
    // `attention_out` and `softmax_lse` fit the call, which has checked them. `softmax_lse` null: not written.
    Execution(const char* op, doors::AttentionCall call, const Result& attention_out, const Result* softmax_lse,
              std::vector<NamedMemory> memory);

    const char* op() const { return op_; }
    std::uint64_t workspace_bytes() const { return workspace_bytes_; }
    // All that it reads and writes beside the workspace.
    const std::vector<NamedMemory>& memory() const { return memory_; }
    bool writes_anything() const;
    bool repeatable() const { return repeatable_; }
    void MakeRepeatable() { repeatable_ = true; }

    // Writes the results. Throws sim::SimulatorFailure.
    void Run(void* workspace) const;

private:
    void* AddressOf(const Result& result, void* workspace) const;

    const char* op_;
    doors::AttentionCall call_;
    Result attention_out_;
    std::optional<Result> softmax_lse_;
    std::vector<NamedMemory> memory_;
    std::uint64_t workspace_bytes_ = 0;
    std::atomic<bool> repeatable_{false};
};

}  // namespace ascend_attention::aclnn
