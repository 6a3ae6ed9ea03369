// SPDX-License-Identifier: Apache-2.0
// A queue in one piece of memory: std::deque takes and gives back a block every few entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ascend_attention::sim {

template <typename T>
class Ring {
public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    // From the oldest on.
    const T& operator[](std::size_t index) const {
        return items_[(head_ + static_cast<std::uint32_t>(index)) & (capacity_ - 1)];
    }
    const T& front() const { return items_[head_]; }

    // The new last one, with whatever is left in its place. To fill it where it is saves a copy through the stack,
    // where the host would have to wait for the small stores of its members.
    T& Append() {
        if (size_ == capacity_) {
            Grow();
        }
        return items_[(head_ + size_++) & (capacity_ - 1)];
    }
    void push_back(const T& item) { Append() = item; }
    void pop_front() {
        head_ = (head_ + 1) & (capacity_ - 1);
        --size_;
    }

private:
    void Grow() {
        constexpr std::uint32_t kFirst = 32;
        const std::uint32_t capacity = capacity_ == 0 ? kFirst : 2 * capacity_;
        auto larger = std::make_unique<T[]>(capacity);
        for (std::size_t i = 0; i < size_; ++i) {
            larger[i] = (*this)[i];
        }
        items_ = std::move(larger);
        capacity_ = capacity;
        head_ = 0;
    }

    std::unique_ptr<T[]> items_;
    std::uint32_t capacity_ = 0;  // a power of two, or none yet
    std::uint32_t head_ = 0;
    std::uint32_t size_ = 0;
};

}  // namespace ascend_attention::sim
