// SPDX-License-Identifier: Apache-2.0
// Qualifiers and core-type constants of Ascend C, as a plain C++ compiler sees them. The device toolchain compiles
// every kernel once per core type; so does this project, with -D__DAV_C220_CUBE__ or -D__DAV_C220_VEC__.
#pragma once

#include <cstdint>

#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif

#define __aicore__
// 9.x: which cores run a kernel. Every kernel is compiled once per core type here and its body compiles in both passes;
// the launch says which cores run it.
#define __vector__
#define __cube__
#define __mix__(cubes, vectors)
#define __schedmode__(mode)
#define __host__
#define __global__ __attribute__((visibility("default")))
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __sync_alias__
#define __sync_noalias__
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
constexpr uint32_t TOTAL_UB_SIZE = 192 * 1024;
constexpr uint32_t TOTAL_L1_SIZE = 512 * 1024;
constexpr uint64_t RESERVED_WORKSPACE = 16 * 1024 * 1024;
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

enum KernelMetaType {
    KERNEL_TYPE_AIV_ONLY,
    KERNEL_TYPE_AIC_ONLY,
    KERNEL_TYPE_MIX_AIV_1_0,
    KERNEL_TYPE_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2,
    KERNEL_TYPE_AICORE,
    KERNEL_TYPE_VECTORCORE,
    KERNEL_TYPE_MIX_AICORE,
    KERNEL_TYPE_MIX_VECTOR_CORE,
    KERNEL_TYPE_MAX,
};

// The launch descriptor carries the kernel type; the device toolchain reads these.
#define KERNEL_TASK_TYPE(key, value) \
    static_assert(static_cast<int>(value) < static_cast<int>(KERNEL_TYPE_MAX), "not a kernel type")
#define KERNEL_TASK_TYPE_DEFAULT(value) KERNEL_TASK_TYPE(default, value)
