// SPDX-License-Identifier: Apache-2.0
// One step of decoding: a query row for each of two sequences, whose keys are 100 and 40 long, 8 heads over 2 heads of
// key and value, layout BNSD, float16. Every value of sequence b is b + 1, and so is every element of its result.
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"

#include <cmath>

#include "program.h"

namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kKeyHeads = 2;
constexpr std::int64_t kKeys = 128;  // room in the cache
constexpr std::int64_t kHeadDim = 64;

// Destroys what it holds, so that the device's memory is back before the device is.
int Run(aclrtStream stream) {
    std::vector<aclFloat16> queries(kBatch * kHeads * kHeadDim);
    std::vector<aclFloat16> keys(kBatch * kKeyHeads * kKeys * kHeadDim);
    std::vector<aclFloat16> values(keys.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
        queries[i] = aclFloatToFloat16(0.01F * float(i % 100));
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = aclFloatToFloat16(0.02F * float(i % 77) - 0.5F);
        values[i] = aclFloatToFloat16(i < keys.size() / 2 ? 1.0F : 2.0F);
    }
    const DeviceTensor query({kBatch, kHeads, 1, kHeadDim}, ACL_FLOAT16, queries);
    DeviceTensor key({kBatch, kKeyHeads, kKeys, kHeadDim}, ACL_FLOAT16, keys);
    DeviceTensor value({kBatch, kKeyHeads, kKeys, kHeadDim}, ACL_FLOAT16, values);
    const DeviceTensor out({kBatch, kHeads, 1, kHeadDim}, ACL_FLOAT16, std::vector<aclFloat16>(queries.size()));
    const DeviceTensor lse({kBatch, kHeads, 1, 1}, ACL_FLOAT, std::vector<float>(kBatch * kHeads));
    // Lists: each tensor may have a sequence to itself. A list of one is that tensor.
    const aclTensor* key_list[] = {key.release()};
    const aclTensor* value_list[] = {value.release()};
    aclTensorList* key_tensors = aclCreateTensorList(key_list, 1);
    aclTensorList* value_tensors = aclCreateTensorList(value_list, 1);
    const std::int64_t lengths[] = {100, 40};
    aclIntArray* key_lengths = aclCreateIntArray(lengths, kBatch);
    char layout[] = "BNSD";
    const std::int64_t all = 2147483647;

    std::uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK(aclnnFusedInferAttentionScoreV4GetWorkspaceSize(
        query.get(), key_tensors, value_tensors, nullptr, nullptr, nullptr, key_lengths, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, kHeads, 1.0 / std::sqrt(double(kHeadDim)), all,
        all, layout, kKeyHeads, 0, 0, 0, 0, true, 0, 0, 0, out.get(), lse.get(), &workspace_size, &executor));
    const Workspace workspace(workspace_size);
    CHECK(aclnnFusedInferAttentionScoreV4(workspace.get(), workspace_size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    int wrong = 0;
    const std::vector<aclFloat16> result = out.Read<aclFloat16>();
    for (std::size_t i = 0; i < result.size(); ++i) {
        wrong += aclFloat16ToFloat(result[i]) != (i < result.size() / 2 ? 1.0F : 2.0F);
    }
    const std::vector<float> sums = lse.Read<float>();
    std::printf("%zu elements, %d of them wrong; log-sum-exp of the first rows: %f, %f; workspace %llu bytes\n",
                result.size(), wrong, sums[0], sums[kHeads], static_cast<unsigned long long>(workspace_size));
    aclDestroyTensorList(key_tensors);
    aclDestroyTensorList(value_tensors);
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
