// SPDX-License-Identifier: Apache-2.0
#include "acl/device.h"

#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "acl/failure.h"
#include "acl/memory.h"
#include "common/text.h"

namespace ascend_attention::acl {
namespace {

constexpr std::int32_t kDevice = 0;

// What belongs to a context.
struct Belongings {
    std::shared_ptr<Context> context;
    std::map<aclrtStream, std::shared_ptr<Stream>> streams;
    std::vector<aclrtEvent> events;
};

struct Device {
    // Held from the first to the last step of setting and resetting: who sets the device while another thread's reset
    // still finishes streams gets a device of its own, not the one whose memory is about to be taken back.
    std::mutex turn;
    std::mutex mutex;  // of what follows; taken after the other one
    bool initialised = false;
    int users = 0;  // aclrtSetDevice less aclrtResetDevice
    aclrtContext primary = nullptr;
    std::map<aclrtContext, Belongings> contexts;
};

// Never destroyed: other threads may still be in a call when the process ends.
Device& TheDevice() {
    static Device* const device = new Device;
    return *device;
}

thread_local aclrtContext current_context = nullptr;

void CheckDeviceNumber(std::int32_t number) {
    if (number != kDevice) {
        throw Failure(ACL_ERROR_RT_INVALID_DEVICEID, Concat("device ", number, ": there is one device, number 0"));
    }
}

// The mutex is held.
aclrtContext NewContext(Device* device) {
    Belongings belongings;
    belongings.context = std::make_shared<Context>();
    const aclrtContext handle = AddHandle(Kind::kContext, belongings.context);
    device->contexts.emplace(handle, std::move(belongings));
    return handle;
}

// Takes back what belongs to a context. Its work is done or nobody wants it.
void Release(aclrtContext handle, const Belongings& belongings) {
    for (const auto& [stream, object] : belongings.streams) {
        TakeHandle(Kind::kStream, stream);
        Stream::Discard(object);
    }
    for (const aclrtEvent event : belongings.events) {
        TakeHandle(Kind::kEvent, event);
    }
    Stream::Discard(belongings.context->own_stream);
    TakeHandle(Kind::kContext, handle);
}

std::vector<std::shared_ptr<Stream>> StreamsOf(const Belongings& belongings) {
    std::vector<std::shared_ptr<Stream>> streams = {belongings.context->own_stream};
    for (const auto& entry : belongings.streams) {
        streams.push_back(entry.second);
    }
    return streams;
}

// All of them are finished, whatever fails; throws the first failure.
void FinishAll(const std::vector<std::shared_ptr<Stream>>& streams) {
    std::optional<Failure> first;
    for (const std::shared_ptr<Stream>& stream : streams) {
        try {
            Stream::Finish(stream);
        } catch (const Failure& failure) {
            if (!first.has_value()) {
                first = failure;
            }
        }
    }
    if (first.has_value()) {
        throw Failure(*first);
    }
}

void ResetDevice(bool force) {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> turn(device.turn);
    std::map<aclrtContext, Belongings> contexts;
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        if (device.users == 0) {
            throw Failure(ACL_ERROR_RT_CONTEXT_NULL, "the device was not set");
        }
        device.users = force ? 0 : device.users - 1;
        if (device.users > 0) {
            return;
        }
        contexts.swap(device.contexts);
        device.primary = nullptr;
    }
    std::vector<std::shared_ptr<Stream>> streams;
    for (const auto& [handle, belongings] : contexts) {
        const std::vector<std::shared_ptr<Stream>> own = StreamsOf(belongings);
        streams.insert(streams.end(), own.begin(), own.end());
    }
    std::optional<Failure> failure;
    try {
        FinishAll(streams);
    } catch (const Failure& first) {
        failure = first;
    }
    for (const auto& [handle, belongings] : contexts) {
        Release(handle, belongings);
    }
    FreeAllDeviceMemory();
    if (failure.has_value()) {
        throw Failure(*failure);
    }
}

template <class Handle>
void CheckGiven(Handle* where, const char* name) {
    if (where == nullptr) {
        throw Failure(ACL_ERROR_INVALID_PARAM, Concat(name, ": nullptr"));
    }
}

// The belongings of the current context. The mutex is held.
Belongings& CurrentBelongings(Device* device) {
    const auto found = device->contexts.find(current_context);
    if (found == device->contexts.end()) {
        throw Failure(ACL_ERROR_RT_CONTEXT_NULL,
                      "this thread has no context: call aclrtSetDevice or aclrtSetCurrentContext in it");
    }
    return found->second;
}

}  // namespace

std::shared_ptr<Context> CurrentContext() {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> lock(device.mutex);
    return CurrentBelongings(&device).context;
}

std::shared_ptr<Stream> StreamOf(aclrtStream stream) {
    const std::shared_ptr<Context> context = CurrentContext();
    if (stream == nullptr) {
        return context->own_stream;
    }
    std::shared_ptr<Stream> found = Find<Stream>(Kind::kStream, stream);
    if (found == nullptr) {
        throw Failure(ACL_ERROR_RT_INVALID_HANDLE, Concat("stream: ", DescribeHandle(stream)));
    }
    return found;
}

aclrtStream NewStream() {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> lock(device.mutex);
    Belongings& belongings = CurrentBelongings(&device);
    auto stream = std::make_shared<Stream>();
    const aclrtStream handle = AddHandle(Kind::kStream, stream);
    belongings.streams.emplace(handle, std::move(stream));
    return handle;
}

void ForgetStream(aclrtStream stream) {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> lock(device.mutex);
    for (auto& entry : device.contexts) {
        entry.second.streams.erase(stream);
    }
}

aclrtEvent NewEvent() {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> lock(device.mutex);
    Belongings& belongings = CurrentBelongings(&device);
    const aclrtEvent handle = AddHandle(Kind::kEvent, std::make_shared<Event>());
    belongings.events.push_back(handle);
    return handle;
}

void ForgetEvent(aclrtEvent event) {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> lock(device.mutex);
    for (auto& entry : device.contexts) {
        std::vector<aclrtEvent>& events = entry.second.events;
        for (std::size_t i = 0; i < events.size(); ++i) {
            if (events[i] == event) {
                events[i] = events.back();
                events.pop_back();
                return;
            }
        }
    }
}

void FinishDevice() {
    Device& device = TheDevice();
    std::vector<std::shared_ptr<Stream>> streams;
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        CurrentBelongings(&device);
        for (const auto& entry : device.contexts) {
            const std::vector<std::shared_ptr<Stream>> own = StreamsOf(entry.second);
            streams.insert(streams.end(), own.begin(), own.end());
        }
    }
    FinishAll(streams);
}

}  // namespace ascend_attention::acl

using namespace ascend_attention;
using namespace ascend_attention::acl;

aclError aclInit(const char* configPath) {
    return Guarded([&] {
        if (configPath != nullptr && *configPath != '\0' && !std::ifstream(configPath).is_open()) {
            throw Failure(ACL_ERROR_INVALID_FILE, Concat("configPath: cannot read '", configPath, "'"));
        }
        Device& device = TheDevice();
        const std::lock_guard<std::mutex> lock(device.mutex);
        if (device.initialised) {
            throw Failure(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before");
        }
        device.initialised = true;
    });
}

aclError aclFinalize() {
    return Guarded([] {
        Device& device = TheDevice();
        const std::lock_guard<std::mutex> lock(device.mutex);
        if (!device.initialised) {
            throw Failure(ACL_ERROR_UNINITIALIZE, "aclFinalize without aclInit");
        }
        device.initialised = false;
    });
}

aclError aclrtSetDevice(int32_t deviceId) {
    return Guarded([&] {
        CheckDeviceNumber(deviceId);
        Device& device = TheDevice();
        const std::lock_guard<std::mutex> turn(device.turn);
        const std::lock_guard<std::mutex> lock(device.mutex);
        if (device.users == 0) {
            device.primary = NewContext(&device);
        }
        ++device.users;
        current_context = device.primary;
    });
}

aclError aclrtResetDevice(int32_t deviceId) {
    return Guarded([&] {
        CheckDeviceNumber(deviceId);
        ResetDevice(false);
    });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    return Guarded([&] {
        CheckDeviceNumber(deviceId);
        ResetDevice(true);
    });
}

aclError aclrtGetDevice(int32_t* deviceId) {
    return Guarded([&] {
        CheckGiven(deviceId, "deviceId");
        CurrentContext();
        *deviceId = kDevice;
    });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
    return Guarded([&] {
        CheckGiven(count, "count");
        *count = 1;
    });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
    return Guarded([&] {
        CheckGiven(runMode, "runMode");
        *runMode = ACL_HOST;
    });
}

aclError aclrtSynchronizeDevice() {
    return Guarded([] { FinishDevice(); });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
    return Guarded([&] {
        CheckGiven(context, "context");
        CheckDeviceNumber(deviceId);
        Device& device = TheDevice();
        const std::lock_guard<std::mutex> turn(device.turn);
        const std::lock_guard<std::mutex> lock(device.mutex);
        *context = current_context = NewContext(&device);
    });
}

aclError aclrtDestroyContext(aclrtContext context) {
    return Guarded([&] {
        Device& device = TheDevice();
        Belongings belongings;
        {
            const std::lock_guard<std::mutex> lock(device.mutex);
            const auto found = device.contexts.find(context);
            if (found == device.contexts.end()) {
                throw Failure(ACL_ERROR_RT_INVALID_HANDLE, Concat("context: ", DescribeHandle(context)));
            }
            if (context == device.primary) {
                throw Failure(ACL_ERROR_INVALID_PARAM, "context: that of aclrtSetDevice goes with aclrtResetDevice");
            }
            belongings = std::move(found->second);
            device.contexts.erase(found);
        }
        Release(context, belongings);
    });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    return Guarded([&] {
        if (Find<Context>(Kind::kContext, context) == nullptr) {
            throw Failure(ACL_ERROR_RT_INVALID_HANDLE, Concat("context: ", DescribeHandle(context)));
        }
        current_context = context;
    });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    return Guarded([&] {
        CheckGiven(context, "context");
        CurrentContext();
        *context = current_context;
    });
}
