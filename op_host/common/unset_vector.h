// SPDX-License-Identifier: Apache-2.0
// A vector whose resize() leaves new elements as the memory was: for what is about to be written as a whole. Clearing
// it first would take as long as writing it.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace ascend_attention {

template <class T>
struct UnsetAllocator : std::allocator<T> {
    static_assert(std::is_trivially_destructible_v<T>, "an element may never have been made");

    UnsetAllocator() = default;
    template <class U>
    UnsetAllocator(const UnsetAllocator<U>&) {}
    template <class U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };

    template <class U>
    void construct(U*) {}
    template <class U, class First, class... Rest>
    void construct(U* place, First&& first, Rest&&... rest) {
        ::new (static_cast<void*>(place)) U(std::forward<First>(first), std::forward<Rest>(rest)...);
    }
};

template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace ascend_attention
