// SPDX-License-Identifier: Apache-2.0
// What the examples share. Only calls that the acl runtime of an NPU has too.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

// Ends the program where a call fails, with the code and the text.
inline void Check(int code, const char* call) {
    if (code != 0) {
        const char* text = aclGetRecentErrMsg();
        std::fprintf(stderr, "%s: %d\n  %s\n", call, code, text == nullptr ? "" : text);
        std::exit(1);
    }
}
#define CHECK(call) Check((call), #call)

// A tensor in device memory.
class DeviceTensor {
public:
    template <class Element>
    DeviceTensor(std::vector<std::int64_t> shape, aclDataType dtype, const std::vector<Element>& values)
        : bytes_(values.size() * sizeof(Element)) {
        CHECK(aclrtMalloc(&memory_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemcpy(memory_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
        std::vector<std::int64_t> strides(shape.size(), 1);
        for (std::size_t axis = shape.size(); axis-- > 1;) {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        tensor_ = aclCreateTensor(shape.data(), shape.size(), dtype, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                                  shape.size(), memory_);
    }
    DeviceTensor(const DeviceTensor&) = delete;
    DeviceTensor& operator=(const DeviceTensor&) = delete;
    ~DeviceTensor() {
        if (tensor_ != nullptr) {
            aclDestroyTensor(tensor_);
        }
        aclrtFree(memory_);
    }

    aclTensor* get() const { return tensor_; }
    // For a list, which destroys its tensors.
    aclTensor* release() { return std::exchange(tensor_, nullptr); }

    template <class Element>
    std::vector<Element> Read() const {
        std::vector<Element> values(bytes_ / sizeof(Element));
        CHECK(aclrtMemcpy(values.data(), bytes_, memory_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST));
        return values;
    }

private:
    std::size_t bytes_;
    void* memory_ = nullptr;
    aclTensor* tensor_ = nullptr;
};

// Device memory for a workspace; none for 0 bytes.
class Workspace {
public:
    explicit Workspace(std::uint64_t bytes) {
        if (bytes > 0) {
            CHECK(aclrtMalloc(&memory_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        }
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace() {
        if (memory_ != nullptr) {
            aclrtFree(memory_);
        }
    }
    void* get() const { return memory_; }

private:
    void* memory_ = nullptr;
};
