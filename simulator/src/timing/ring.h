// SPDX-License-Identifier: Apache-2.0
// A queue in one piece of memory: std::deque takes and gives back a block every few entries.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ascend_attention::sim {

template <typename T>
class Ring {
public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    // From the oldest on.
    const T& operator[](std::size_t index) const { return items_[(head_ + index) & (items_.size() - 1)]; }
    const T& front() const { return items_[head_]; }

    void push_back(const T& item) {
        if (size_ == items_.size()) {
            Grow();
        }
        items_[(head_ + size_) & (items_.size() - 1)] = item;
        ++size_;
    }
    void pop_front() {
        head_ = (head_ + 1) & (items_.size() - 1);
        --size_;
    }

private:
    void Grow() {
        constexpr std::size_t kFirst = 32;
        std::vector<T> larger(items_.empty() ? kFirst : 2 * items_.size());
        for (std::size_t i = 0; i < size_; ++i) {
            larger[i] = (*this)[i];
        }
        items_ = std::move(larger);
        head_ = 0;
    }

    std::vector<T> items_;  // a power of two of them, or none yet
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace ascend_attention::sim
