// SPDX-License-Identifier: Apache-2.0
// The C interface as a C++ program sees it: the two phases of the operators. With runtime.cpp it is one program.
//   test_aclnn [pairs of calls in a row]
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aclnn/program.h"
#include "ascend_attention/live_objects.h"

namespace {

using namespace program;

// One pair of calls; returns the code of the first phase that refuses, of the second, or of the stream.
int RunPrompt(Prompt* prompt, aclrtStream stream) {
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    if (const int code = prompt->Plan(&bytes, &executor)) {
        return code;
    }
    const Workspace workspace(bytes);
    if (const int code = aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream)) {
        return code;
    }
    return aclrtSynchronizeStream(stream);
}

void TestPromptRuns(aclrtStream stream) {
    Prompt prompt;
    CHECK_EQ_CONTEXT(RunPrompt(&prompt, stream), 0, LastText());
    for (const float element : prompt.out.Read()) {
        CHECK_EQ(element, 1.0F);
    }
    prompt.value.Fill(-2.0F);
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_EQ(prompt.Plan(&bytes, &executor), ACLNN_SUCCESS);
    const Workspace workspace(bytes);
    CHECK_EQ(aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream), ACLNN_SUCCESS);
    CHECK_EQ(prompt.out.Read()[5], 1.0F);  // not before somebody waits
    CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    CHECK_EQ(prompt.out.Read()[5], -2.0F);
}

// Everything that a second phase refuses, with one executor that stays good until it is used.
void TestSecondPhaseRefusals(aclrtStream stream) {
    Prompt prompt;
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_EQ(prompt.Plan(&bytes, &executor), ACLNN_SUCCESS);
    CHECK(bytes > 0);
    const Workspace workspace(bytes + 64);
    const auto run = [&](void* memory, std::uint64_t size, aclOpExecutor* which, aclrtStream on) {
        return aclnnPromptFlashAttentionV3(memory, size, which, on);
    };
    char* inside = static_cast<char*>(workspace.memory());
    std::vector<char> host(bytes + 64);
    const std::string op = "npu_prompt_flash_attention: ";
    CHECK_EQ(run(inside, bytes, nullptr, stream), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said(op + "executor: given nullptr"));
    CHECK_EQ(run(nullptr, bytes, executor, stream), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said(op + "workspace: given nullptr; allowed: at least " + std::to_string(bytes) + " bytes"));
    CHECK_EQ(run(inside, bytes - 1, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said(op + "workspaceSize: given " + std::to_string(bytes - 1)));
    CHECK_EQ(run(inside + 8, bytes, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("8 bytes above a multiple of 32"));
    CHECK_EQ(run(inside + 64, bytes + 64, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("are left in the memory of"));
    const std::uintptr_t aligned = (reinterpret_cast<std::uintptr_t>(host.data()) + 31) / 32 * 32;
    CHECK_EQ(run(reinterpret_cast<void*>(aligned), bytes, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("which is no memory of aclrtMalloc"));
    CHECK_EQ(run(inside, bytes, executor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said(op + "stream: given nullptr"));
    CHECK_EQ(run(inside, bytes, executor, executor), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said(op + "stream: given an executor; allowed: a stream"));
    CHECK_EQ(run(inside, bytes, static_cast<aclOpExecutor*>(stream), stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said(op + "executor: given a stream; allowed: an executor"));
    CHECK_EQ(aclnnFusedInferAttentionScoreV4(inside, bytes, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("executor: given an executor of npu_prompt_flash_attention"));
    CHECK_EQ(run(inside, bytes, executor, stream), ACLNN_SUCCESS);
    CHECK_EQ(run(inside, bytes, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said(op + "executor: given an executor that was used or destroyed"));
    CHECK_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    CHECK_EQ(prompt.out.Read()[255], 1.0F);

    // A stream that was destroyed, memory that was freed, tensors that never had any.
    aclrtStream gone = nullptr;
    aclrtCreateStream(&gone);
    aclrtDestroyStream(gone);
    CHECK_EQ(prompt.Plan(&bytes, &executor), ACLNN_SUCCESS);
    CHECK_EQ(run(inside, bytes, executor, gone), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("a stream that was destroyed"));
    CHECK_EQ(aclSetRawTensorAddr(prompt.key.handle(), nullptr), ACLNN_SUCCESS);
    aclOpExecutor* homeless = nullptr;
    CHECK_EQ(prompt.Plan(&bytes, &homeless), ACLNN_SUCCESS);
    CHECK_EQ(run(inside, bytes, homeless, stream), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said(op + "key: given a tensor without an address"));
    CHECK_EQ(aclSetRawTensorAddr(prompt.key.handle(), host.data()), ACLNN_SUCCESS);
    CHECK_EQ(aclDestroyAclOpExecutor(homeless), ACLNN_SUCCESS);
    CHECK_EQ(prompt.Plan(&bytes, &homeless), ACLNN_SUCCESS);
    CHECK_EQ(run(inside, bytes, homeless, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said(op + "key: given 512 bytes at"));
    CHECK_EQ(aclDestroyAclOpExecutor(homeless), ACLNN_SUCCESS);
    CHECK_EQ(aclSetRawTensorAddr(prompt.key.handle(), prompt.key.memory()), ACLNN_SUCCESS);
    std::thread([&] {  // which has not set the device
        CHECK_EQ(run(inside, bytes, executor, stream), ACLNN_ERR_RUNTIME_ERROR);
        CHECK(Said(op + "device: given a thread that has set none; allowed: a thread that has called aclrtSetDevice"));
        aclOpExecutor* none = nullptr;
        std::uint64_t size = 99;
        CHECK_EQ(prompt.Plan(&size, &none), ACLNN_ERR_RUNTIME_ERROR);  // before any work was planned for it
        CHECK(Said("[DEVICE, code 361001]"));
        CHECK(none == nullptr && size == 99);
    })
        .join();
    // The first phase has noted what it was given: what is destroyed after it was noted.
    CHECK_EQ(run(inside, bytes, executor, stream), ACLNN_SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

void TestWorkspaceThatGoes(aclrtStream stream) {
    Prompt prompt;
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_EQ(prompt.Plan(&bytes, &executor), ACLNN_SUCCESS);
    {
        const Workspace workspace(bytes);
        CHECK_EQ(aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream), ACLNN_SUCCESS);
    }
    CHECK_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(Said("workspace: "));
    CHECK_EQ(prompt.out.Read()[0], 7.0F);
}

void TestRepeatable(aclrtStream stream) {
    CHECK_EQ(aclSetAclOpExecutorRepeatable(nullptr), ACLNN_ERR_INNER_NULLPTR);
    CHECK_EQ(aclDestroyAclOpExecutor(nullptr), ACLNN_ERR_INNER_NULLPTR);
    CHECK(Said("aclDestroyAclOpExecutor: executor: given nullptr"));
    Prompt prompt;
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_EQ(prompt.Plan(&bytes, &executor), ACLNN_SUCCESS);
    CHECK_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
    const Workspace workspace(bytes);
    for (const float value : {3.0F, 4.0F}) {
        prompt.value.Fill(value);
        CHECK_EQ(aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream), ACLNN_SUCCESS);
        CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
        CHECK_EQ(prompt.out.Read()[17], value);
    }
    CHECK_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
    CHECK_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream), ACLNN_ERR_PARAM_INVALID);
}

// The document's order of checks, which decides the code where several things are wrong.
void TestOrderOfChecks() {
    BlockSparse sparse(16, 0);
    std::uint64_t bytes = 99;
    aclOpExecutor* executor = nullptr;
    char tnd[] = "TND";
    char odd[] = "XYZ";
    const auto plan = [&](char* q, char* kv, aclTensor* out) { return sparse.Plan(q, kv, out, &bytes, &executor); };
    CHECK_EQ(plan(nullptr, odd, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(
        Said("block_sparse_attention_v2: q_input_layout: given none; allowed: TND, BNSD, BSND [BSA-C3, code 161001]"));
    CHECK_EQ(plan(tnd, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("kv_input_layout: given none; allowed: TND, BNSD, BSND [BSA-C3, code 161001]"));
    CHECK_EQ(plan(odd, tnd, nullptr), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("BSA-C4"));
    sparse.inner_precise = 3;
    CHECK_EQ(plan(sparse.layout.data(), sparse.layout.data(), nullptr), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("BSA-C6"));
    sparse.inner_precise = 4;
    CHECK_EQ(plan(tnd, tnd, nullptr), ACLNN_ERR_PARAM_NULLPTR);  // the shapes do not fit TND: a later check
    CHECK(Said("attention_out: given none; allowed: a tensor [BSA-C7, code 161001]"));
    CHECK_EQ(sparse.Plan(nullptr, &executor), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("workspaceSize: given none; allowed: a place for the answer [BSA-C7, code 161001]"));
    CHECK_EQ(sparse.Plan(&bytes, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("executor: given none; allowed: a place for the answer [BSA-C7, code 161001]"));
    CHECK_EQ(plan(tnd, tnd, sparse.out.handle()), ACLNN_ERR_PARAM_INVALID);
    sparse.lse_flag = 1;
    CHECK_EQ(sparse.Plan(&bytes, &executor), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("softmax_lse: given none; allowed: a tensor [BSA-C43, code 161001]"));
    CHECK_EQ(bytes, 99U);  // a refused request has changed nothing
    CHECK(executor == nullptr);
}

// Results may be strided: here every other row, and a log-sum-exp with room between its numbers.
void TestStridedResults(aclrtStream stream) {
    BlockSparse sparse(4, 0, {512, 512, 128, 1});
    Tensor lse(ACL_FLOAT, {1, 1, 4, 1}, 7.0F, {8, 8, 2, 1});
    sparse.lse = &lse;
    sparse.lse_flag = 1;
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_EQ_CONTEXT(sparse.Plan(&bytes, &executor), ACLNN_SUCCESS, LastText());
    CHECK(bytes >= 4 * 64 * 2 + 4 * 4);
    const Workspace workspace(bytes);
    CHECK_EQ(aclnnBlockSparseAttentionV2(workspace.memory(), bytes, executor, stream), ACLNN_SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    const std::vector<float> out = sparse.out.Read();
    const std::vector<float> sums = lse.Read();
    for (int row = 0; row < 4; ++row) {
        CHECK_EQ(out[std::size_t(row) * 128], 0.0F);  // no row sees a key
        CHECK_EQ(out[std::size_t(row) * 128 + 63], 0.0F);
        CHECK_EQ(out[std::size_t(row) * 128 + 64], 7.0F);
        CHECK(sums[std::size_t(row) * 2] > 3e38F);
        CHECK_EQ(sums[std::size_t(row) * 2 + 1], 7.0F);
    }
    // With keys: what the kernel writes, rows of ones with room between them.
    BlockSparse dense(40, 130, {5120, 5120, 128, 1});
    CHECK_EQ_CONTEXT(dense.Plan(&bytes, &executor), ACLNN_SUCCESS, LastText());
    const Workspace room(bytes);
    CHECK_EQ(aclnnBlockSparseAttentionV2(room.memory(), bytes - 1, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK_EQ(aclnnBlockSparseAttentionV2(room.memory(), bytes, executor, stream), ACLNN_SUCCESS);
    CHECK_EQ_CONTEXT(aclrtSynchronizeStream(stream), ACL_SUCCESS, LastText());
    const std::vector<float> ones = dense.out.Read();
    for (std::size_t i = 0; i < 40 * 128; ++i) {
        CHECK_EQ(ones[i], i % 128 < 64 ? 1.0F : 7.0F);
    }
    // The others do not take strided results.
    Prompt prompt;
    Tensor strided(ACL_FLOAT16, {1, 1, 16, 16}, 0.0F, {512, 512, 32, 1});
    char layout[] = "BNSD";
    CHECK_EQ(aclnnPromptFlashAttentionV3GetWorkspaceSize(
                 prompt.query.handle(), prompt.key.handle(), prompt.value.handle(), nullptr, nullptr, nullptr, nullptr,
                 nullptr, nullptr, nullptr, nullptr, nullptr, 1, 0.25, 2147483647, 0, layout, 0, 0, 0, strided.handle(),
                 &bytes, &executor),
             ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("non-contiguous"));
    // Nothing to write needs neither workspace nor stream.
    BlockSparse nothing(0, 0);
    CHECK_EQ_CONTEXT(nothing.Plan(&bytes, &executor), ACLNN_SUCCESS, LastText());
    CHECK_EQ(bytes, 0U);
    CHECK_EQ(aclnnBlockSparseAttentionV2(nullptr, 0, executor, nullptr), ACLNN_SUCCESS);
}

// A view may be anything: what it spans is looked at, and a result's elements may not meet.
void TestViews(aclrtStream stream) {
    Prompt prompt;
    const Dims dims = {1, 1, 16, 16};
    const Dims backwards = {-7, -7, 16, 1};  // axes of one element: their strides say nothing
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    char layout[] = "BNSD";
    const auto plan = [&](const aclTensor* query) {
        return aclnnPromptFlashAttentionV3GetWorkspaceSize(
            query, prompt.key.handle(), prompt.value.handle(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, nullptr, nullptr, 1, 0.25, 2147483647, 0, layout, 0, 0, 0, prompt.out.handle(), &bytes, &executor);
    };
    const auto make = [&](void* memory, const Dims& strides, std::int64_t offset) {
        return aclCreateTensor(dims.data(), 4, ACL_FLOAT16, strides.data(), offset, ACL_FORMAT_ND, dims.data(), 4,
                               memory);
    };
    std::vector<char> host(512);
    for (void* memory : {prompt.query.memory(), static_cast<void*>(host.data()), static_cast<void*>(nullptr)}) {
        aclTensor* query = make(memory, backwards, 0);
        CHECK_EQ_CONTEXT(plan(query), ACLNN_SUCCESS, LastText());
        const Workspace workspace(bytes);
        const int code = aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream);
        CHECK_EQ(code, memory == nullptr                 ? ACLNN_ERR_PARAM_NULLPTR
                       : memory == prompt.query.memory() ? ACLNN_SUCCESS
                                                         : ACLNN_ERR_PARAM_INVALID);
        CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
        if (code != ACLNN_SUCCESS) {
            CHECK(Said("query: given "));
            CHECK_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
        }
        aclDestroyTensor(query);
    }
    aclTensor* reversed = make(prompt.query.memory(), {256, 256, -16, 1}, 240);
    CHECK_EQ(plan(reversed), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("non-contiguous"));
    aclDestroyTensor(reversed);
    aclTensor* askew = make(static_cast<char*>(prompt.query.memory()) + 1, {256, 256, 16, 1}, 0);
    CHECK_EQ(plan(askew), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("query: given an address that is 1 bytes above a multiple of 2"));
    aclDestroyTensor(askew);
    for (const std::int64_t offset : {std::int64_t(-1), std::int64_t(1) << 62, INT64_MAX}) {
        CHECK(make(prompt.query.memory(), {256, 256, 16, 1}, offset) == nullptr);
        CHECK(Said("offset: "));
    }
    // Rows that run into the next one; columns that lie where other rows have theirs.
    for (const Dims& strides : {Dims{1, 1, 32, 1}, Dims{1, 1, 1, 39}, Dims{1, 1, 64, 0}, Dims{1, 1, 64, 64}}) {
        BlockSparse meeting(40, 130, strides);
        CHECK_EQ(meeting.Plan(&bytes, &executor), ACLNN_ERR_PARAM_INVALID);
        CHECK(Said("attention_out: given strides by which elements may share memory"));
    }
    BlockSparse transposed(40, 130, {1, 1, 1, 40});
    CHECK_EQ_CONTEXT(transposed.Plan(&bytes, &executor), ACLNN_SUCCESS, LastText());
    const Workspace workspace(bytes);
    CHECK_EQ(aclnnBlockSparseAttentionV2(workspace.memory(), bytes, executor, stream), ACLNN_SUCCESS);
    CHECK_EQ_CONTEXT(aclrtSynchronizeStream(stream), ACL_SUCCESS, LastText());
    const std::vector<float> ones = transposed.out.Read();
    CHECK_EQ(std::count(ones.begin(), ones.end(), 1.0F), 40 * 64);
    CHECK_EQ(ones[40 * 64 - 1], 1.0F);
}

// Pairs in a row, and first phases that nothing follows; nothing of any of them is left.
void TestManyPairs(aclrtStream stream, int pairs) {
    Prompt prompt;
    const std::uint64_t before = ascendAttentionLiveObjects();
    for (int i = 0; i < pairs; ++i) {
        CHECK_EQ(RunPrompt(&prompt, stream), 0);
        if (i % 10 == 0) {
            std::uint64_t bytes = 0;
            aclOpExecutor* executor = nullptr;
            CHECK_EQ(prompt.Plan(&bytes, &executor), ACLNN_SUCCESS);
            CHECK_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
        }
    }
    CHECK_EQ(ascendAttentionLiveObjects(), before);
}

// What one thread does with a stream of its own; returns how often it was right.
int Rounds(float value, int rounds) {
    aclrtStream stream = nullptr;
    int right = 0;
    if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) {
        return 0;
    }
    {
        Prompt prompt;
        prompt.value.Fill(value);
        for (int i = 0; i < rounds; ++i) {
            prompt.out.Fill(0.0F);
            const bool ran = RunPrompt(&prompt, stream) == 0 && prompt.out.Read()[100] == value;
            prompt.layout = "none" + std::to_string(int(value));
            std::uint64_t bytes = 0;
            aclOpExecutor* executor = nullptr;
            const bool refused = prompt.Plan(&bytes, &executor) == ACLNN_ERR_PARAM_INVALID &&
                                 LastText().find("none" + std::to_string(int(value))) != std::string::npos;
            prompt.layout = "BNSD";
            right += ran && refused;
        }
    }
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    return right;
}

void TestThreads(int rounds) {
    int right[2] = {0, 0};
    std::thread first([&] { right[0] = Rounds(3.0F, rounds); });
    std::thread second([&] { right[1] = Rounds(-5.0F, rounds); });
    first.join();
    second.join();
    CHECK_EQ(right[0], rounds);
    CHECK_EQ(right[1], rounds);
}

// Two threads on one stream, and both after the same executor, which serves one of them.
void TestSharedStream(aclrtStream stream, int rounds) {
    Prompt prompts[2];
    prompts[1].value.Fill(6.0F);
    int wrong[2] = {0, 0};
    int served[2] = {0, 0};
    std::vector<aclOpExecutor*> contested(static_cast<std::size_t>(rounds));
    Prompt contest;
    std::uint64_t bytes = 0;
    for (aclOpExecutor*& executor : contested) {
        CHECK_EQ(contest.Plan(&bytes, &executor), ACLNN_SUCCESS);
    }
    const Workspace workspace(bytes);
    const auto work = [&](int which) {
        aclrtSetDevice(0);
        for (aclOpExecutor* executor : contested) {
            wrong[which] += RunPrompt(&prompts[which], stream) != 0;
            served[which] += aclnnPromptFlashAttentionV3(workspace.memory(), bytes, executor, stream) == ACLNN_SUCCESS;
        }
        wrong[which] += aclrtSynchronizeStream(stream) != 0;
        aclrtResetDevice(0);
    };
    std::thread first(work, 0);
    std::thread second(work, 1);
    first.join();
    second.join();
    CHECK_EQ(wrong[0] + wrong[1], 0);
    CHECK_EQ(served[0] + served[1], rounds);
    CHECK_EQ(prompts[0].out.Read()[9], 1.0F);
    CHECK_EQ(prompts[1].out.Read()[9], 6.0F);
    CHECK_EQ(contest.out.Read()[9], 1.0F);
}

}  // namespace

int main(int count, char** arguments) {
    const int pairs = count > 1 ? std::atoi(arguments[1]) : 10000;
    TestRuntime();
    aclrtStream stream = nullptr;
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    TestPromptRuns(stream);
    TestSecondPhaseRefusals(stream);
    TestWorkspaceThatGoes(stream);
    TestRepeatable(stream);
    TestOrderOfChecks();
    TestStridedResults(stream);
    TestViews(stream);
    TestManyPairs(stream, pairs);
    TestThreads(10);
    TestSharedStream(stream, 10);
    CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    // Only the contexts, as nothing else is left; and the last reset takes those.
    CHECK_EQ(ascendAttentionLiveObjects(), 1U);
    CHECK_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    CHECK_EQ(ascendAttentionLiveObjects(), 0U);
    CHECK_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclFinalize(), ACL_SUCCESS);
    return check::Result();
}
