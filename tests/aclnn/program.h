// SPDX-License-Identifier: Apache-2.0
// What programs around aclnn calls have in common: tensors that own their memory, and requests of the operators.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/opdev/op_errno.h"
#include "aclnnop/aclnn_block_sparse_attention_v2.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"
#include "aclnnop/aclnn_prompt_flash_attention_v3.h"
#include "cpp/check.h"

namespace program {

using Dims = std::vector<std::int64_t>;

inline std::int64_t Count(const Dims& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) {
        count *= dim;
    }
    return count;
}

// The text of the last failure of this thread.
inline std::string LastText() {
    const char* text = aclGetRecentErrMsg();
    return text == nullptr ? "" : text;
}

// Whether the last call failed with this text in its words.
inline bool Said(const std::string& words) {
    const std::string text = LastText();
    CHECK_CONTEXT(text.find(words) != std::string::npos, "'" + text + "' has '" + words + "'");
    return LastText().empty();  // asked once, it is forgotten
}

// Initialises acl and sets the device, which stays set.
void TestRuntime();

// A tensor in device memory of its own, every element `value`.
class Tensor {
public:
    Tensor(aclDataType dtype, Dims dims, float value, Dims strides = {}) : dims_(std::move(dims)), dtype_(dtype) {
        std::int64_t room = Count(dims_);
        for (std::size_t i = 0; i < strides.size(); ++i) {
            room += (dims_[i] - 1) * strides[i];  // at least as much as the view spans
        }
        elements_ = room;
        if (bytes() > 0) {
            aclrtMalloc(&memory_, bytes(), ACL_MEM_MALLOC_HUGE_FIRST);
            Fill(value);
        }
        handle_ = aclCreateTensor(dims_.data(), dims_.size(), dtype, strides.empty() ? nullptr : strides.data(), 0,
                                  ACL_FORMAT_ND, &elements_, 1, memory_);
    }
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;
    ~Tensor() {
        aclDestroyTensor(handle_);
        if (memory_ != nullptr) {
            aclrtFree(memory_);
        }
    }

    void Fill(float value) {
        std::vector<unsigned char> host(bytes());
        const std::uint16_t half = aclFloatToFloat16(value);
        for (std::size_t at = 0; at < host.size(); ++at) {
            switch (dtype_) {
                case ACL_FLOAT16:
                    host[at] = static_cast<unsigned char>(half >> (at % 2 * 8));
                    break;
                case ACL_FLOAT:
                    host[at] = reinterpret_cast<const unsigned char*>(&value)[at % 4];
                    break;
                default:
                    host[at] = static_cast<unsigned char>(value);
            }
        }
        aclrtMemcpy(memory_, bytes(), host.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE);
    }
    // All of its memory, for float16 and float32.
    std::vector<float> Read() const {
        std::vector<unsigned char> host(bytes());
        aclrtMemcpy(host.data(), host.size(), memory_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST);
        std::vector<float> values(static_cast<std::size_t>(elements_));
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = dtype_ == ACL_FLOAT ? reinterpret_cast<const float*>(host.data())[i]
                                            : aclFloat16ToFloat(reinterpret_cast<const std::uint16_t*>(host.data())[i]);
        }
        return values;
    }
    std::size_t bytes() const { return static_cast<std::size_t>(elements_) * aclDataTypeSize(dtype_); }
    void* memory() const { return memory_; }
    aclTensor* handle() const { return handle_; }

private:
    Dims dims_;
    aclDataType dtype_;
    std::int64_t elements_ = 0;
    void* memory_ = nullptr;
    aclTensor* handle_ = nullptr;
};

// An array of integers that is destroyed with it.
class IntArray {
public:
    explicit IntArray(const Dims& values) : handle_(aclCreateIntArray(values.data(), values.size())) {}
    IntArray(const IntArray&) = delete;
    IntArray& operator=(const IntArray&) = delete;
    ~IntArray() { aclDestroyIntArray(handle_); }
    const aclIntArray* handle() const { return handle_; }

private:
    aclIntArray* handle_;
};

// Prompt flash attention over one head; ones make ones.
struct Prompt {
    Tensor query{ACL_FLOAT16, {1, 1, 16, 16}, 1.0F};
    Tensor key{ACL_FLOAT16, {1, 1, 16, 16}, 1.0F};
    Tensor value{ACL_FLOAT16, {1, 1, 16, 16}, 1.0F};
    Tensor out{ACL_FLOAT16, {1, 1, 16, 16}, 7.0F};
    std::string layout = "BNSD";

    aclnnStatus Plan(std::uint64_t* workspace_size, aclOpExecutor** executor) {
        return aclnnPromptFlashAttentionV3GetWorkspaceSize(
            query.handle(), key.handle(), value.handle(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, nullptr, 1, 0.25, 2147483647, 2147483647, layout.data(), 0, 0, 0, out.handle(), workspace_size,
            executor);
    }
};

// Block-sparse attention in the document's words, over rows of width 64.
struct BlockSparse {
    BlockSparse(std::int64_t rows, std::int64_t keys, const Dims& out_strides = {})
        : query(ACL_FLOAT16, {1, 1, rows, 64}, 1.0F),
          key(ACL_FLOAT16, {1, 1, keys, 64}, 1.0F),
          value(ACL_FLOAT16, {1, 1, keys, 64}, 1.0F),
          map(ACL_INT8, {1, 1, (rows + 127) / 128, (keys + 127) / 128}, 1.0F),
          out(ACL_FLOAT16, {1, 1, rows, 64}, 7.0F, out_strides) {}

    Tensor query;
    Tensor key;
    Tensor value;
    Tensor map;
    Tensor out;
    Tensor* lse = nullptr;
    std::string layout = "BNSD";
    std::int64_t lse_flag = 0;
    std::int64_t inner_precise = 4;

    aclnnStatus Plan(std::uint64_t* workspace_size, aclOpExecutor** executor) {
        return Plan(layout.data(), layout.data(), out.handle(), workspace_size, executor);
    }
    aclnnStatus Plan(char* q_layout, char* kv_layout, aclTensor* result, std::uint64_t* workspace_size,
                     aclOpExecutor** executor) {
        return aclnnBlockSparseAttentionV2GetWorkspaceSize(
            query.handle(), key.handle(), value.handle(), map.handle(), nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, nullptr, nullptr, q_layout, kv_layout, 1, 0, 0.125, inner_precise, 0, 2147483647, 2147483647,
            lse_flag, result, lse == nullptr ? nullptr : lse->handle(), workspace_size, executor);
    }
};

// Device memory for a workspace; none for 0 bytes.
class Workspace {
public:
    explicit Workspace(std::uint64_t bytes) {
        if (bytes > 0) {
            aclrtMalloc(&memory_, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
        }
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace() {
        if (memory_ != nullptr) {
            aclrtFree(memory_);
        }
    }
    void* memory() const { return memory_; }

private:
    void* memory_ = nullptr;
};

}  // namespace program
