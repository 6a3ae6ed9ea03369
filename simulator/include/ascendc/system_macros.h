// SPDX-License-Identifier: Apache-2.0
// Qualifiers and core-type constants of Ascend C, as a plain C++ compiler sees them. The device toolchain compiles
// every kernel once per core type; so does this project, with -D__DAV_C220_CUBE__ or -D__DAV_C220_VEC__.
#pragma once

#include <cstdint>

#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif

#define __aicore__
#define __global__ __attribute__((visibility("default")))
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __sync_alias__
#define __BLOCK_LOCAL__
#define __WORKGROUP_LOCAL__
#define __inout_pipe__(pipe)
#define __in_pipe__(pipe)
#define __out_pipe__(pipe)

#ifndef GM_ADDR
#define GM_ADDR __gm__ uint8_t*
#endif
#ifndef K_MAX_SHAPE_DIM
#define K_MAX_SHAPE_DIM 8
#endif

namespace AscendC {

constexpr int AIC_TYPE = 1;
constexpr int AIV_TYPE = 2;
constexpr int MIX_TYPE = 3;
constexpr int MIX = 0;
constexpr int AIC = 1;
constexpr int AIV = 2;

constexpr int32_t ONE_BLK_SIZE = 32;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr uint32_t INT4_TWO = 2;

}  // namespace AscendC

#if defined(__DAV_C220_CUBE__)
constexpr int g_coreType = AscendC::AIC;
#elif defined(__DAV_C220_VEC__)
constexpr int g_coreType = AscendC::AIV;
#else
constexpr int g_coreType = AscendC::MIX;
#endif

// Constants, so that the other core type's branch is never instantiated inside templates.
#define ASCEND_IS_AIC constexpr(g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV constexpr(g_coreType == AscendC::AIV)
#define ASCEND_IS_NOT_AIC constexpr(g_coreType != AscendC::AIC)
#define ASCEND_IS_NOT_AIV constexpr(g_coreType != AscendC::AIV)

// The launch descriptor carries the kernel type; the device toolchain reads these.
#define KERNEL_TASK_TYPE(key, value)
#define KERNEL_TASK_TYPE_DEFAULT(value)
