// SPDX-License-Identifier: Apache-2.0
// A vector of plain structs whose resize() leaves new elements as the memory was: for what is about to be written as a
// whole. Clearing it first would take as long as writing it. (A std::vector with an allocator that does not construct
// would do where compilers optimise: elsewhere it goes through all elements to do nothing with them.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace ascend_attention {

template <class T>
class UnsetVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, "elements are bytes");
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "operator new aligns no more strictly");

public:
    UnsetVector() = default;
    UnsetVector(std::initializer_list<T> elements) { Assign(elements.begin(), elements.size()); }
    UnsetVector(const UnsetVector& other) { Assign(other.data(), other.size()); }
    UnsetVector(UnsetVector&& other) noexcept { Swap(&other); }
    UnsetVector& operator=(UnsetVector other) noexcept {
        Swap(&other);
        return *this;
    }

    void reserve(size_t capacity) {
        if (capacity <= capacity_) {
            return;
        }
        Memory memory(static_cast<T*>(::operator new(capacity * sizeof(T))));
        if (size_ > 0) {
            std::memcpy(static_cast<void*>(memory.get()), data(), size_ * sizeof(T));
        }
        memory_ = std::move(memory);
        capacity_ = capacity;
    }
    void resize(size_t size) {
        reserve(size);
        size_ = size;
    }
    void clear() { size_ = 0; }
    void assign(size_t size, T element) {
        resize(size);
        std::fill(begin(), end(), element);
    }
    void push_back(const T& element) {
        const T copy = element;  // it may be one of ours
        reserve(size_ < capacity_ ? capacity_ : std::max<size_t>(8, 2 * capacity_));
        ::new (static_cast<void*>(data() + size_++)) T(copy);
    }

    T* data() { return memory_.get(); }
    const T* data() const { return memory_.get(); }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    T& operator[](size_t i) { return data()[i]; }
    const T& operator[](size_t i) const { return data()[i]; }
    T& back() { return data()[size_ - 1]; }
    const T& back() const { return data()[size_ - 1]; }

private:
    struct Delete {
        void operator()(T* memory) const { ::operator delete(memory); }
    };
    using Memory = std::unique_ptr<T, Delete>;

    void Assign(const T* elements, size_t size) {
        resize(size);
        if (size > 0) {
            std::memcpy(static_cast<void*>(data()), elements, size * sizeof(T));
        }
    }
    void Swap(UnsetVector* other) {
        std::swap(memory_, other->memory_);
        std::swap(size_, other->size_);
        std::swap(capacity_, other->capacity_);
    }

    Memory memory_;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

}  // namespace ascend_attention
