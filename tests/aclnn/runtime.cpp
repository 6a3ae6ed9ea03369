// SPDX-License-Identifier: Apache-2.0
// The acl runtime over the simulator, without any operator.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/program.h"

namespace {

using namespace program;

void TestDevice() {
    CHECK_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
    CHECK_EQ(aclInit("/nowhere/acl.json"), ACL_ERROR_INVALID_FILE);
    CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
    CHECK_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
    std::int32_t number = -1;
    void* memory = nullptr;
    CHECK_EQ(aclrtGetDevice(&number), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(Said("aclrtMalloc: this thread has no context: call aclrtSetDevice"));
    CHECK_EQ(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK(Said("aclrtSetDevice: device 1: there is one device"));
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
    CHECK_EQ(aclrtFreeHost(host.data()), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(aclrtFreeHost(memory), ACL_SUCCESS);
    CHECK_EQ(aclrtFreeHost(memory), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(Said("aclrtFreeHost: hostPtr: not given by aclrtMallocHost, or freed before"));
    CHECK_EQ(aclrtMallocHost(&memory, std::size_t{1} << 62), ACL_ERROR_RT_MEMORY_ALLOCATION);
}

// Another thread's device, set while a reset still finishes streams, is not what that reset takes back.
void TestSetBesideReset() {
    constexpr std::size_t kLong = std::size_t{1} << 26;  // bytes: memsets that take a while
    std::atomic<bool> resetting{false};
    std::atomic<bool> reset{false};
    std::vector<int> codes;  // of the other thread
    std::thread other([&] {
        while (!resetting) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        void* memory = nullptr;
        codes.push_back(aclrtSetDevice(0));
        codes.push_back(aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST));
        while (!reset) {
            std::this_thread::yield();
        }
        codes.push_back(aclrtMemset(memory, 32, 1, 32));
        codes.push_back(aclrtFree(memory));
        codes.push_back(aclrtResetDevice(0));
    });
    void* memory = nullptr;
    CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    CHECK_EQ(aclrtMalloc(&memory, kLong, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    for (int i = 0; i < 8; ++i) {
        CHECK_EQ(aclrtMemsetAsync(memory, kLong, i, kLong, nullptr), ACL_SUCCESS);
    }
    resetting = true;
    CHECK_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    reset = true;
    other.join();
    CHECK(codes == std::vector<int>(5, ACL_SUCCESS));
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
    CHECK_EQ(LastText().rfind("aclrtMemsetAsync: devPtr: 32 bytes at ", 0), 0U);  // not of the call that waited
    // Also where the call left it to the addresses which side is the device's.
    char host[32] = {};
    aclrtMalloc(&gone, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    CHECK_EQ(aclrtMemcpyAsync(gone, 32, host, 32, ACL_MEMCPY_DEFAULT, one), ACL_SUCCESS);
    CHECK_EQ(aclrtFree(gone), ACL_SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(one), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(Said("aclrtMemcpyAsync: dst: 32 bytes at "));
    CHECK_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);

    CHECK_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    CHECK_EQ(aclrtRecordEvent(event, one), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK(Said("aclrtRecordEvent: event: an event that was destroyed"));
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
    CHECK(Said("aclCreateIntArray: value: nullptr"));

    // A list owns its members; a foreign handle is told for what it is.
    const aclTensor* members[] = {tensor};
    aclTensorList* list = aclCreateTensorList(members, 1);
    CHECK_EQ(aclGetTensorListSize(list, &count), ACLNN_SUCCESS);
    CHECK_EQ(count, 1U);
    CHECK_EQ(aclDestroyTensor(reinterpret_cast<aclTensor*>(list)), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("aclDestroyTensor: given a list of tensors; allowed: a tensor"));
    CHECK_EQ(aclDestroyTensorList(list), ACLNN_SUCCESS);
    CHECK_EQ(aclDestroyTensor(tensor), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("aclDestroyTensor: given a tensor that was destroyed; allowed: a tensor"));
    CHECK_EQ(aclDestroyTensorList(list), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("aclDestroyTensorList: given a list of tensors that was destroyed"));
    CHECK_EQ(aclGetViewOffset(tensor, &offset), ACLNN_ERR_PARAM_INVALID);
    CHECK(Said("aclGetViewOffset: given a tensor that was destroyed"));
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

}  // namespace

void program::TestRuntime() {
    TestSetBesideReset();
    TestDevice();
    TestContexts();
    TestMemory();
    TestStreams();
    TestObjects();
}
