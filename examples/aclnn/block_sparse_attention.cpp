// SPDX-License-Identifier: Apache-2.0
// Block-sparse attention, as the interface's document shows it: one sequence of 128 queries and 128 keys in layout TND,
// one head of width 128, all values 1, one block of the map, which is selected. The result is all ones.
#include "aclnnop/aclnn_block_sparse_attention_v2.h"

#include <cmath>

#include "program.h"

namespace {

// Destroys what it holds, so that the device's memory is back before the device is.
int Run(aclrtStream stream) {
    const std::int64_t tokens = 128;
    const std::int64_t head_dim = 128;
    const std::vector<std::int64_t> shape = {tokens, 1, head_dim};
    const std::vector<aclFloat16> ones(tokens * head_dim, aclFloatToFloat16(1.0F));
    const std::vector<aclFloat16> zeros(tokens * head_dim, 0);

    const DeviceTensor query(shape, ACL_FLOAT16, ones);
    const DeviceTensor key(shape, ACL_FLOAT16, ones);
    const DeviceTensor value(shape, ACL_FLOAT16, ones);
    const DeviceTensor mask({1, 1, 1, 1}, ACL_INT8, std::vector<std::int8_t>{1});
    const DeviceTensor out(shape, ACL_FLOAT16, zeros);
    const std::int64_t block_shape[] = {128, 256};
    const std::int64_t lengths[] = {tokens};
    aclIntArray* block = aclCreateIntArray(block_shape, 2);
    aclIntArray* query_lengths = aclCreateIntArray(lengths, 1);
    aclIntArray* key_lengths = aclCreateIntArray(lengths, 1);
    char layout[] = "TND";
    const std::int64_t all = 2147483647;

    // First phase: checks, and how much workspace the second one wants.
    std::uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK(aclnnBlockSparseAttentionV2GetWorkspaceSize(query.get(), key.get(), value.get(), mask.get(), nullptr, block,
                                                      query_lengths, key_lengths, nullptr, nullptr, nullptr, nullptr,
                                                      layout, layout, 1, 0, 1.0 / std::sqrt(double(head_dim)), 4, 0,
                                                      all, all, 0, out.get(), nullptr, &workspace_size, &executor));

    // Second phase: the operator goes on the stream; its result is there once the stream was waited for.
    const Workspace workspace(workspace_size);
    CHECK(aclnnBlockSparseAttentionV2(workspace.get(), workspace_size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    int wrong = 0;
    const std::vector<aclFloat16> result = out.Read<aclFloat16>();
    for (std::size_t i = 0; i < result.size(); ++i) {
        const float element = aclFloat16ToFloat(result[i]);
        wrong += element != 1.0F;
        if (i < 4) {
            std::printf("result[%zu] is %f\n", i, element);
        }
    }
    std::printf("%zu elements, %d of them not 1; workspace %llu bytes\n", result.size(), wrong,
                static_cast<unsigned long long>(workspace_size));
    aclDestroyIntArray(block);
    aclDestroyIntArray(query_lengths);
    aclDestroyIntArray(key_lengths);
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
    aclrtStream stream = nullptr;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    const int result = Run(stream);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return result;
}
