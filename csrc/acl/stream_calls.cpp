// SPDX-License-Identifier: Apache-2.0
// Streams, events, memory and copies as C functions.
#include <array>
#include <cstring>
#include <utility>

#include "acl/acl_rt.h"
#include "acl/device.h"
#include "acl/failure.h"
#include "acl/memory.h"
#include "common/text.h"

namespace ascend_attention::acl {
namespace {

void CheckPointer(const void* pointer, const char* name) {
    if (pointer == nullptr) {
        throw Failure(ACL_ERROR_INVALID_PARAM, Concat(name, ": nullptr"));
    }
}

std::shared_ptr<Event> EventOf(aclrtEvent event) {
    CurrentContext();
    std::shared_ptr<Event> found = Find<Event>(Kind::kEvent, event);
    if (found == nullptr) {
        throw Failure(ACL_ERROR_RT_INVALID_HANDLE, Concat("event: ", DescribeHandle(event)));
    }
    return found;
}

// The piece of device memory, which then stays while it is used.
Pin PinDevice(const void* address, std::size_t bytes, const char* name) {
    Pin pin = FindDeviceMemory(address, bytes);
    if (pin == nullptr) {
        throw Failure(ACL_ERROR_RT_PARAM_INVALID, Concat(name, ": ", DescribeMissing(address, bytes)));
    }
    return pin;
}

void CheckHost(const void* address, const char* name) {
    if (IsDeviceMemory(address)) {
        throw Failure(ACL_ERROR_RT_PARAM_INVALID, Concat(name, ": device memory, where `kind` says host"));
    }
}

void CheckCount(std::size_t count, std::size_t most, const char* name) {
    if (count > most) {
        throw Failure(ACL_ERROR_INVALID_PARAM, Concat("count: ", count, ", of which ", name, " (", most, ") is less"));
    }
}

void CheckSize(std::size_t size) {
    if (size == 0) {
        throw Failure(ACL_ERROR_INVALID_PARAM, "size: 0; allowed: at least 1");
    }
}

// Which side is the device's is settled when the call is made: what was freed since then is not taken for the host's.
struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    bool to_device;
    bool from_device;

    std::array<Pin, 2> Pins() const { return {PinSide(to, to_device, "dst"), PinSide(from, from_device, "src")}; }
    void Run() const {
        const std::array<Pin, 2> keep = Pins();
        std::memmove(to, from, bytes);
    }

private:
    Pin PinSide(const void* address, bool device, const char* name) const {
        if (device) {
            return PinDevice(address, bytes, name);
        }
        CheckHost(address, name);
        return nullptr;
    }
};

Copy MakeCopy(void* dst, std::size_t dest_max, const void* src, std::size_t count, aclrtMemcpyKind kind) {
    CurrentContext();
    CheckPointer(dst, "dst");
    CheckPointer(src, "src");
    CheckCount(count, dest_max, "destMax");
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT) {
        throw Failure(ACL_ERROR_INVALID_PARAM, Concat("kind: ", int(kind), ", which is none"));
    }
    const bool known = kind != ACL_MEMCPY_DEFAULT;
    const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    return {dst, src, count, known ? to_device : IsDeviceMemory(dst), known ? from_device : IsDeviceMemory(src)};
}

void Set(void* to, int value, std::size_t bytes) {
    const Pin keep = PinDevice(to, bytes, "devPtr");
    std::memset(to, value, bytes);
}

void CheckSet(const void* to, std::size_t most, std::size_t count) {
    CurrentContext();
    CheckPointer(to, "devPtr");
    CheckCount(count, most, "maxCount");
    PinDevice(to, count, "devPtr");
}

// Work whose failure, told when somebody waits for it, carries the name of the function that put it there.
Stream::Task Later(const char* function, Stream::Task work) {
    return [function, work = std::move(work)] {
        try {
            work();
        } catch (const Failure& failure) {
            throw Failure(failure.code(), Concat(function, ": ", failure.what()));
        }
    };
}

void DestroyStream(aclrtStream stream, bool force) {
    CurrentContext();
    const std::shared_ptr<Stream> taken = Take<Stream>(Kind::kStream, stream);
    if (taken == nullptr) {
        throw Failure(ACL_ERROR_RT_INVALID_HANDLE, Concat("stream: ", DescribeHandle(stream)));
    }
    ForgetStream(stream);
    if (force) {
        Stream::Discard(taken);
    } else {
        Stream::Finish(taken);
    }
}

}  // namespace
}  // namespace ascend_attention::acl

using namespace ascend_attention;
using namespace ascend_attention::acl;

aclError aclrtCreateStream(aclrtStream* stream) {
    return Guarded([&] {
        CheckPointer(stream, "stream");
        *stream = NewStream();
    });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t) {
    constexpr std::uint32_t kLowest = 7;
    return Guarded([&] {
        CheckPointer(stream, "stream");
        if (priority > kLowest) {
            throw Failure(ACL_ERROR_RT_PARAM_INVALID, Concat("priority: ", priority, "; allowed: 0 to 7"));
        }
        *stream = NewStream();
    });
}

aclError aclrtDestroyStream(aclrtStream stream) {
    return Guarded([&] { DestroyStream(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return Guarded([&] { DestroyStream(stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    return Guarded([&] { Stream::Finish(StreamOf(stream)); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    return Guarded([&] {
        if (timeout < -1) {
            throw Failure(ACL_ERROR_INVALID_PARAM, Concat("timeout: ", timeout, "; allowed: milliseconds, or -1"));
        }
        // Milliseconds of a device; how long a simulation takes says nothing about them.
        Stream::Finish(StreamOf(stream));
    });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
    return Guarded([&] {
        CheckPointer(status, "status");
        *status = Stream::Progress(StreamOf(stream)) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return Guarded([&] { Stream::WaitFor(StreamOf(stream), *EventOf(event)); });
}

aclError aclrtCreateEvent(aclrtEvent* event) {
    return Guarded([&] {
        CheckPointer(event, "event");
        *event = NewEvent();
    });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return aclrtCreateEvent(event); }

aclError aclrtDestroyEvent(aclrtEvent event) {
    return Guarded([&] {
        EventOf(event);
        ForgetEvent(event);
        TakeHandle(Kind::kEvent, event);
    });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return Guarded([&] { Stream::Record(StreamOf(stream), EventOf(event).get()); });
}

// An event can be recorded again at any time: there is nothing to do.
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return Guarded([&] {
        EventOf(event);
        StreamOf(stream);
    });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    return Guarded([&] {
        CheckPointer(status, "status");
        *status =
            Stream::IsDone(*EventOf(event)) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return Guarded([&] { Stream::Finish(*EventOf(event)); });
}

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return Guarded([&] {
        CurrentContext();
        CheckPointer(devPtr, "devPtr");
        CheckSize(size);
        *devPtr = AllocateDeviceMemory(size);
    });
}

aclError aclrtFree(void* devPtr) {
    return Guarded([&] {
        CurrentContext();
        CheckPointer(devPtr, "devPtr");
        if (!FreeDeviceMemory(devPtr)) {
            throw Failure(ACL_ERROR_RT_PARAM_INVALID, "devPtr: not given by aclrtMalloc, or freed before");
        }
    });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return Guarded([&] {
        CurrentContext();
        CheckPointer(hostPtr, "hostPtr");
        CheckSize(size);
        *hostPtr = AllocateHostMemory(size);
    });
}

aclError aclrtFreeHost(void* hostPtr) {
    return Guarded([&] {
        CheckPointer(hostPtr, "hostPtr");
        if (!FreeHostMemory(hostPtr)) {
            throw Failure(ACL_ERROR_RT_PARAM_INVALID, "hostPtr: not given by aclrtMallocHost, or freed before");
        }
    });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    return Guarded([&] { MakeCopy(dst, destMax, src, count, kind).Run(); });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return Guarded([&] {
        CheckSet(devPtr, maxCount, count);
        Set(devPtr, value, count);
    });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    return Guarded([&] {
        const Copy copy = MakeCopy(dst, destMax, src, count, kind);
        copy.Pins();
        Stream::Enqueue(StreamOf(stream), Later("aclrtMemcpyAsync", [copy] { copy.Run(); }));
    });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return Guarded([&] {
        CheckSet(devPtr, maxCount, count);
        Stream::Enqueue(StreamOf(stream), Later("aclrtMemsetAsync", [=] { Set(devPtr, value, count); }));
    });
}
