// SPDX-License-Identifier: Apache-2.0
// Streams of the simulated device. Work that is put on one is carried out, in its order, by the thread that first waits
// for it: a program that forgets to wait reads what was there before, every time, and no two runs differ.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acl/failure.h"

namespace ascend_attention::acl {

class Stream;

// One recording of an event.
struct Mark {
    bool done = false;
    std::weak_ptr<Stream> stream;
};

// The last recording; none: never recorded, so that there is nothing to wait for.
struct Event {
    std::shared_ptr<Mark> last;
};

class Stream {
public:
    // What a task throws is kept for whoever waits for the stream: the device has no caller.
    using Task = std::function<void()>;

    static void Enqueue(const std::shared_ptr<Stream>& stream, Task task);
    static void Record(const std::shared_ptr<Stream>& stream, Event* event);
    static void WaitFor(const std::shared_ptr<Stream>& stream, const Event& event);

    // Carries out what is on the stream now. Throws the first failure since the last time.
    static void Finish(const std::shared_ptr<Stream>& stream);
    // Carries out what the event stands behind; throws as Finish() does for that stream.
    static void Finish(const Event& event);
    // One step of work; returns whether the stream is empty now.
    static bool Progress(const std::shared_ptr<Stream>& stream);
    static bool IsDone(const Event& event);
    // Work that nobody will wait for.
    static void Discard(const std::shared_ptr<Stream>& stream);

private:
    struct Item {
        Task task;                    // or
        std::shared_ptr<Mark> mark;   // done when it is reached, or
        std::shared_ptr<Mark> until;  // to be done before anything behind it
    };
    struct Access;

    std::deque<Item> items_;
    bool busy_ = false;  // a thread carries out what was the first item
    std::uint64_t put_ = 0;
    std::uint64_t finished_ = 0;
    std::optional<Failure> failure_;
};

}  // namespace ascend_attention::acl
