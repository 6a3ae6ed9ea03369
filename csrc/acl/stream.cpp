// SPDX-License-Identifier: Apache-2.0
#include "acl/stream.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "acl/acl_base.h"

namespace ascend_attention::acl {
namespace {

// One lock for all streams: it is held only between tasks.
struct Board {
    std::mutex mutex;
    std::condition_variable changed;
};

// Never destroyed: other threads may still wait when the process ends.
Board& TheBoard() {
    static Board* const board = new Board;
    return *board;
}

std::optional<Failure> FailureOf(const Stream::Task& task) {
    try {
        task();
        return std::nullopt;
    } catch (const Failure& failure) {
        return failure.OfWork();
    } catch (const std::bad_alloc&) {
        return Failure(ACL_ERROR_BAD_ALLOC, "work on a stream: out of host memory").OfWork();
    } catch (const std::exception& error) {
        return Failure(ACL_ERROR_INTERNAL_ERROR,
                       std::string("work on a stream: internal error, please report it: ") + error.what())
            .OfWork();
    }
}

}  // namespace

struct Stream::Access {
    using Lock = std::unique_lock<std::mutex>;

    static void Put(Stream* stream, Item item) {
        const std::lock_guard<std::mutex> lock(TheBoard().mutex);
        stream->items_.push_back(std::move(item));
        ++stream->put_;
    }

    // Carries out items until `enough` says so or there are none. What an item waits for was on its stream before the
    // item itself was, so that following these waits comes to an end.
    template <class Enough>
    static void Drain(Lock& lock, Stream& stream, const Enough& enough) {
        while (!enough()) {
            if (stream.busy_) {
                TheBoard().changed.wait(lock);
            } else if (stream.items_.empty()) {
                return;
            } else {
                Step(lock, stream);
            }
        }
    }

    static void Step(Lock& lock, Stream& stream) {
        const std::shared_ptr<Mark> until = stream.items_.front().until;
        if (until != nullptr && !until->done) {
            if (const std::shared_ptr<Stream> other = until->stream.lock()) {
                Drain(lock, *other, [&until] { return until->done; });
                return;  // meanwhile another thread may have gone on with this stream
            }
        }
        Item item = std::move(stream.items_.front());
        stream.items_.pop_front();
        if (item.mark != nullptr) {
            item.mark->done = true;
        }
        if (item.task) {
            stream.busy_ = true;
            lock.unlock();
            std::optional<Failure> failure = FailureOf(item.task);
            item.task = nullptr;  // what it holds goes without the lock
            lock.lock();
            stream.busy_ = false;
            if (failure.has_value() && !stream.failure_.has_value()) {
                stream.failure_ = std::move(failure);
            }
        }
        ++stream.finished_;
        TheBoard().changed.notify_all();
    }

    static void ThrowFailure(Stream* stream) {
        if (stream->failure_.has_value()) {
            const Failure failure = *std::exchange(stream->failure_, std::nullopt);
            throw failure;
        }
    }
};

void Stream::Enqueue(const std::shared_ptr<Stream>& stream, Task task) {
    Access::Put(stream.get(), {std::move(task), nullptr, nullptr});
}

void Stream::Record(const std::shared_ptr<Stream>& stream, Event* event) {
    auto mark = std::make_shared<Mark>();
    mark->stream = stream;
    Access::Put(stream.get(), {nullptr, mark, nullptr});
    const std::lock_guard<std::mutex> lock(TheBoard().mutex);
    event->last = std::move(mark);
}

void Stream::WaitFor(const std::shared_ptr<Stream>& stream, const Event& event) {
    std::shared_ptr<Mark> mark;
    {
        const std::lock_guard<std::mutex> lock(TheBoard().mutex);
        mark = event.last;
    }
    if (mark != nullptr) {
        Access::Put(stream.get(), {nullptr, nullptr, std::move(mark)});
    }
}

void Stream::Finish(const std::shared_ptr<Stream>& stream) {
    Access::Lock lock(TheBoard().mutex);
    const std::uint64_t target = stream->put_;
    Access::Drain(lock, *stream, [&] { return stream->finished_ >= target; });
    Access::ThrowFailure(stream.get());
}

void Stream::Finish(const Event& event) {
    Access::Lock lock(TheBoard().mutex);
    const std::shared_ptr<Mark> mark = event.last;
    const std::shared_ptr<Stream> stream = mark == nullptr ? nullptr : mark->stream.lock();
    if (stream != nullptr) {
        Access::Drain(lock, *stream, [&mark] { return mark->done; });
        Access::ThrowFailure(stream.get());
    }
}

bool Stream::Progress(const std::shared_ptr<Stream>& stream) {
    Access::Lock lock(TheBoard().mutex);
    if (!stream->busy_ && !stream->items_.empty()) {
        Access::Step(lock, *stream);
    }
    return !stream->busy_ && stream->items_.empty();
}

bool Stream::IsDone(const Event& event) {
    std::shared_ptr<Stream> stream;
    {
        const std::lock_guard<std::mutex> lock(TheBoard().mutex);
        if (event.last == nullptr || event.last->done) {
            return true;
        }
        stream = event.last->stream.lock();
    }
    if (stream != nullptr) {
        Progress(stream);  // a program that asks until it is done gets there
    }
    const std::lock_guard<std::mutex> lock(TheBoard().mutex);
    return stream == nullptr || event.last == nullptr || event.last->done;
}

void Stream::Discard(const std::shared_ptr<Stream>& stream) {
    std::deque<Item> discarded;  // what they hold goes without the lock
    const std::lock_guard<std::mutex> lock(TheBoard().mutex);
    discarded.swap(stream->items_);
    stream->finished_ += discarded.size();
    for (const Item& item : discarded) {
        if (item.mark != nullptr) {
            item.mark->done = true;
        }
    }
    TheBoard().changed.notify_all();
}

}  // namespace ascend_attention::acl
