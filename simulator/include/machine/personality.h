// SPDX-License-Identifier: Apache-2.0
// How the machine hears of exceptions while the stack below them still stands. Libraries of device code, and the
// machine's own, are linked with --wrap=__gxx_personality_v0: what the unwinder asks of one of their frames comes here
// first. Included once in each of them, never by device code.
#pragma once

#include "machine/call.h"

namespace ascend_attention::sim {

// `actions` and `exception` as the unwinder gave them.
ASCEND_SIM_API void WatchException(int actions, const void* exception);

}  // namespace ascend_attention::sim

extern "C" {

// The C++ library's own, of whichever that library uses.
int __real___gxx_personality_v0(int version, int actions, unsigned long long kind, void* exception, void* context);

__attribute__((visibility("hidden"))) int __wrap___gxx_personality_v0(int version, int actions, unsigned long long kind,
                                                                      void* exception, void* context) {
    ascend_attention::sim::WatchException(actions, exception);
    return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
}
