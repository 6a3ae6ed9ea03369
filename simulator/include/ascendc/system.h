// SPDX-License-Identifier: Apache-2.0
// Who and where a core is, and calls that only matter on the device.
#pragma once

#include <cstdarg>
#include <cstdint>

#include "ascendc/tensor.h"
#include "machine/core_calls.h"

namespace AscendC {

inline int64_t GetBlockIdx() { return sim::BlockIndex(); }
inline int64_t GetBlockNum() { return sim::BlockCount(); }
inline int64_t GetSubBlockIdx() { return sim::SubBlockIndex(); }
inline int64_t GetSubBlockNum() { return sim::SubBlockCount(); }
inline int64_t GetTaskRation() { return sim::SubBlockCount(); }
inline int64_t GetTaskRatio() { return sim::SubBlockCount(); }
inline int64_t GetSystemCycle() { return sim::SystemCycle(); }

// 9.x: what a kernel without TPipe starts with.
inline void InitSocState() { sim::ResetMachineState(); }

inline void ICachePreLoad(const int64_t) {}
inline int64_t GetICachePreloadStatus() { return 0; }
inline void SetSyncBaseAddr(uint64_t) {}
template <typename T>
void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}

__attribute__((format(printf, 1, 2))) inline void printf(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    sim::Print(format, arguments);
    va_end(arguments);
}

}  // namespace AscendC

#ifndef ASSERT
#define ASSERT(condition)                                                                             \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            ::ascend_attention::sim::AssertFailed(#condition, ::ascend_attention::sim::Site::Here()); \
        }                                                                                             \
    } while (false)
#endif
#ifndef ASCENDC_ASSERT
#define ASCENDC_ASSERT(condition, behavior) ASSERT(condition)
#endif
