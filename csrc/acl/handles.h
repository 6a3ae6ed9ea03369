// SPDX-License-Identifier: Apache-2.0
// What callers hold instead of objects. A handle is a number that is given once: one that was destroyed, that belongs
// to something else, or that this library never gave can be told, and none of them is ever followed as an address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace ascend_attention::acl {

enum class Kind : std::uint8_t {
    kTensor = 1,
    kScalar,
    kIntArray,
    kFloatArray,
    kBoolArray,
    kTensorList,
    kScalarList,
    kExecutor,
    kContext,
    kStream,
    kEvent,
};

// "a tensor", "an executor".
const char* NameOf(Kind kind);

// A handle for `object`. Thread-safe, as all of these.
void* AddHandle(Kind kind, std::shared_ptr<void> object);
// The object, which the caller keeps alive for as long as it holds the pointer; null unless `handle` is a live one of
// this kind.
std::shared_ptr<void> FindHandle(Kind kind, const void* handle);
// The same, and the handle is one no more.
std::shared_ptr<void> TakeHandle(Kind kind, const void* handle);
// "a stream", "an executor that was used or destroyed", "no handle of this library": what a refused handle is.
std::string DescribeHandle(const void* handle);
std::size_t CountHandles();

template <class T>
std::shared_ptr<T> Find(Kind kind, const void* handle) {
    return std::static_pointer_cast<T>(FindHandle(kind, handle));
}
template <class T>
std::shared_ptr<T> Take(Kind kind, const void* handle) {
    return std::static_pointer_cast<T>(TakeHandle(kind, handle));
}

}  // namespace ascend_attention::acl
