// SPDX-License-Identifier: Apache-2.0
// Elements that lie one after the other, in a vector or elsewhere. (std::span, which C++17 has not.)
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace ascend_attention {

template <class T>
class Span {
public:
    Span(T* data, size_t size) : data_(data), size_(size) {}
    template <class Container,
              class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>>>
    Span(Container& container) : data_(container.data()), size_(container.size()) {}  // NOLINT: a view of it

    T* begin() const { return data_; }
    T* end() const { return data_ + size_; }
    T* data() const { return data_; }
    size_t size() const { return size_; }
    T& operator[](size_t i) const { return data_[i]; }

private:
    T* data_;
    size_t size_;
};

}  // namespace ascend_attention
