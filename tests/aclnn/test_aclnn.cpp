// SPDX-License-Identifier: Apache-2.0
// The C interface as a C++ program sees it: the acl runtime over the simulator, and the two phases of the operators.
//   test_aclnn [pairs of calls in a row]
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aclnn/program.h"
#include "ascend_attention/live_objects.h"

namespace {

using namespace program;

// Whether the last call failed with this text in its words.
bool Said(const std::string& words) {
    const std::string text = LastText();
    CHECK_CONTEXT(text.find(words) != std::string::npos, "'" + text + "' has '" + words + "'");
    return LastText().empty();  // asked once, it is forgotten
}

void TestDevice() {
    CHECK_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
    CHECK_EQ(aclInit("/nowhere/acl.json"), ACL_ERROR_INVALID_FILE);
    CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
    CHECK_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
    std::int32_t number = -1;
    void* memory = nullptr;
    CHECK_EQ(aclrtGetDevice(&number), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(Said("aclrtSetDevice"));
    CHECK_EQ(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK(Said("device 1: there is one device"));
    CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    CHECK_EQ(aclrtGetDevice(&number), ACL_SUCCESS);
    CHECK_EQ(number, 0);
    std::uint32_t count = 0;
    CHECK_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
    CHECK_EQ(count, 1U);
    CHECK_EQ(std::string(aclrtGetSocName()), std::string("Ascend910B2"));
    aclrtRunMode mode = ACL_DEVICE;
    CHECK_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
    CHECK_EQ(int(mode), int(ACL_HOST));
    // A thread has no device until it sets one.
    std::thread([] {
        void* none = nullptr;
        CHECK_EQ(aclrtMalloc(&none, 32, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    }).join();
    CHECK(LastText().empty());  // that was the other thread's failure
}

void TestContexts() {
    aclrtContext first = nullptr;
    aclrtContext own = nullptr;
    CHECK_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
    CHECK_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
    aclrtStream stream = nullptr;
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    CHECK_EQ(aclrtDestroyContext(first), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
    CHECK_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtSetCurrentContext(own), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK(Said("a context that was destroyed"));
    CHECK_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);  // it went with its context
}

void TestMemory() {
    void* memory = nullptr;
    std::vector<char> host(64, 'h');
    CHECK_EQ(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMalloc(&memory, std::size_t{1} << 62, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(memory) % 512, 0U);
    char* middle = static_cast<char*>(memory) + 32;
    CHECK_EQ(aclrtMemcpy(memory, 64, host.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    CHECK_EQ(aclrtMemset(middle, 32, 'd', 32), ACL_SUCCESS);
    CHECK_EQ(aclrtMemcpy(host.data(), 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    CHECK_EQ(std::string(host.begin(), host.end()), std::string(32, 'h') + std::string(32, 'd'));
    CHECK_EQ(aclrtMemcpy(memory, 16, host.data(), 32, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtMemcpy(middle, 64, host.data(), 33, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(Said("of which 32 are left"));
    CHECK_EQ(aclrtMemcpy(host.data(), 64, host.data(), 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(Said("no memory of aclrtMalloc"));
    CHECK_EQ(aclrtMemcpy(memory, 64, memory, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMemcpy(memory, 64, host.data(), 8, static_cast<aclrtMemcpyKind>(6)), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(aclrtFree(middle), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFree(memory), ACL_SUCCESS);
    CHECK_EQ(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtMallocHost(&memory, 16), ACL_SUCCESS);
    CHECK_EQ(aclrtFreeHost(memory), ACL_SUCCESS);
}

void TestStreams() {
    aclrtStream one = nullptr;
    aclrtStream two = nullptr;
    aclrtEvent event = nullptr;
    CHECK_EQ(aclrtCreateStream(&one), ACL_SUCCESS);
    CHECK_EQ(aclrtCreateStreamWithConfig(&two, 0, ACL_STREAM_FAST_LAUNCH), ACL_SUCCESS);
    CHECK_EQ(aclrtCreateStreamWithConfig(&two, 8, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
    CHECK_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);  // never recorded: nothing to wait for

    // The second stream copies what the first one writes; nobody waits for the first.
    Tensor written(ACL_FLOAT, {8}, 1.0F);
    Tensor copied(ACL_FLOAT, {8}, 2.0F);
    CHECK_EQ(aclrtMemsetAsync(written.memory(), 32, 0, 32, one), ACL_SUCCESS);
    CHECK_EQ(aclrtRecordEvent(event, one), ACL_SUCCESS);
    CHECK_EQ(aclrtStreamWaitEvent(two, event), ACL_SUCCESS);
    CHECK_EQ(aclrtMemcpyAsync(copied.memory(), 32, written.memory(), 32, ACL_MEMCPY_DEVICE_TO_DEVICE, two),
             ACL_SUCCESS);
    CHECK_EQ(copied.Read()[0], 2.0F);  // it has not been waited for
    CHECK_EQ(aclrtSynchronizeStream(two), ACL_SUCCESS);
    CHECK_EQ(copied.Read()[7], 0.0F);

    // A program that asks until it is done gets there; so does the context's own stream.
    CHECK_EQ(aclrtMemsetAsync(written.memory(), 32, 0x40, 32, nullptr), ACL_SUCCESS);
    CHECK_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    for (int i = 0; i < 3 && recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY; ++i) {
        CHECK_EQ(aclrtQueryEventStatus(event, &recorded), ACL_SUCCESS);
    }
    CHECK_EQ(int(recorded), int(ACL_EVENT_RECORDED_STATUS_COMPLETE));
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    CHECK_EQ(aclrtStreamQuery(nullptr, &status), ACL_SUCCESS);
    CHECK_EQ(int(status), int(ACL_STREAM_STATUS_COMPLETE));

    // Memory that goes before its turn comes is told to whoever waits, once.
    void* gone = nullptr;
    aclrtMalloc(&gone, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    CHECK_EQ(aclrtMemsetAsync(gone, 32, 0, 32, one), ACL_SUCCESS);
    CHECK_EQ(aclrtFree(gone), ACL_SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(one), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(Said("or no more"));
    CHECK_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);

    CHECK_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    CHECK_EQ(aclrtRecordEvent(event, one), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK(Said("an event that was destroyed"));
    CHECK_EQ(aclrtDestroyStream(one), ACL_SUCCESS);
    CHECK_EQ(aclrtDestroyStreamForce(two), ACL_SUCCESS);
    CHECK_EQ(aclrtDestroyStream(one), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_RT_INVALID_HANDLE);
}

void TestObjects() {
    const Dims dims = {2, 3, 4};
    const Dims strides = {12, 4, 1};
    aclTensor* tensor = aclCreateTensor(dims.data(), 3, ACL_BF16, nullptr, 5, ACL_FORMAT_ND, dims.data(), 3, nullptr);
    std::int64_t* values = nullptr;
    std::uint64_t count = 0;
    CHECK_EQ(aclGetViewStrides(tensor, &values, &count), ACLNN_SUCCESS);
    CHECK(Dims(values, values + count) == strides);
    delete[] values;
    CHECK_EQ(aclGetViewShape(tensor, &values, &count), ACLNN_SUCCESS);
    CHECK(Dims(values, values + count) == dims);
    delete[] values;
    std::int64_t offset = 0;
    aclDataType dtype = ACL_DT_UNDEFINED;
    CHECK_EQ(aclGetViewOffset(tensor, &offset), ACLNN_SUCCESS);
    CHECK_EQ(aclGetDataType(tensor, &dtype), ACLNN_SUCCESS);
    CHECK_EQ(offset, 5);
    CHECK_EQ(int(dtype), int(ACL_BF16));
    CHECK(aclCreateTensor(nullptr, 3, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr) == nullptr);
    CHECK(aclCreateIntArray(nullptr, 2) == nullptr);

    // A list owns its members; a foreign handle is told for what it is.
    const aclTensor* members[] = {tensor};
    aclTensorList* list = aclCreateTensorList(members, 1);
    CHECK_EQ(aclGetTensorListSize(list, &count), ACLNN_SUCCESS);
    CHECK_EQ(count, 1U);
    CHECK_EQ(aclDestroyTensor(reinterpret_cast<aclTensor*>(list)), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("given a list of tensors; allowed: a tensor"));
    CHECK_EQ(aclDestroyTensorList(list), ACLNN_SUCCESS);
    CHECK_EQ(aclDestroyTensor(tensor), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("a tensor that was destroyed"));
    CHECK_EQ(aclDestroyTensor(reinterpret_cast<aclTensor*>(&count)), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("a pointer that this library did not give"));
    CHECK_EQ(aclDestroyTensor(nullptr), ACLNN_SUCCESS);
    float number = 1.5F;
    const aclScalar* scalars[] = {aclCreateScalar(&number, ACL_FLOAT)};
    CHECK_EQ(aclDestroyScalarList(aclCreateScalarList(scalars, 1)), ACLNN_SUCCESS);
    const bool flags[] = {true, false};
    CHECK_EQ(aclDestroyBoolArray(aclCreateBoolArray(flags, 2)), ACLNN_SUCCESS);
    CHECK_EQ(aclDestroyFloatArray(aclCreateFloatArray(&number, 1)), ACLNN_SUCCESS);
    CHECK_EQ(aclDataTypeSize(ACL_FLOAT8_E4M3FN), 1U);
    CHECK_EQ(aclDataTypeSize(ACL_INT4), 0U);
    CHECK_EQ(aclFloat16ToFloat(aclFloatToFloat16(0.333F)), 0.33300781F);
}

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
        CHECK(Said("aclrtSetDevice"));
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
    CHECK(Said("block_sparse_attention_v2: q_input_layout: given nullptr"));
    CHECK_EQ(plan(tnd, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("kv_input_layout: given nullptr"));
    CHECK_EQ(plan(odd, tnd, nullptr), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("BSA-C4"));
    sparse.inner_precise = 3;
    CHECK_EQ(plan(sparse.layout.data(), sparse.layout.data(), nullptr), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("BSA-C6"));
    sparse.inner_precise = 4;
    CHECK_EQ(plan(tnd, tnd, nullptr), ACLNN_ERR_PARAM_NULLPTR);  // the shapes do not fit TND: a later check
    CHECK(Said("attention_out: given nullptr"));
    CHECK_EQ(sparse.Plan(nullptr, &executor), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("workspaceSize: given nullptr"));
    CHECK_EQ(sparse.Plan(&bytes, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("executor: given nullptr"));
    CHECK_EQ(plan(tnd, tnd, sparse.out.handle()), ACLNN_ERR_PARAM_INVALID);
    sparse.lse_flag = 1;
    CHECK_EQ(sparse.Plan(&bytes, &executor), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(Said("softmax_lse: given nullptr"));
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

}  // namespace

int main(int count, char** arguments) {
    const int pairs = count > 1 ? std::atoi(arguments[1]) : 10000;
    TestDevice();
    TestContexts();
    TestMemory();
    TestStreams();
    TestObjects();
    aclrtStream stream = nullptr;
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    TestPromptRuns(stream);
    TestSecondPhaseRefusals(stream);
    TestWorkspaceThatGoes(stream);
    TestRepeatable(stream);
    TestOrderOfChecks();
    TestStridedResults(stream);
    TestManyPairs(stream, pairs);
    TestThreads(10);
    CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    // Only the contexts, as nothing else is left; and the last reset takes those.
    CHECK_EQ(ascendAttentionLiveObjects(), 1U);
    CHECK_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    CHECK_EQ(ascendAttentionLiveObjects(), 0U);
    CHECK_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclFinalize(), ACL_SUCCESS);
    return check::Result();
}
