/* SPDX-License-Identifier: Apache-2.0
 * For tests of programs: what they have not given back. Only this library has it, not the acl runtime of an NPU. */
#ifndef ASCEND_ATTENTION_LIVE_OBJECTS_H
#define ASCEND_ATTENTION_LIVE_OBJECTS_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors, arrays, scalars, lists, executors, streams, events and contexts that were not destroyed, and pieces of
 * device and host memory that were not freed. A device that is set counts as one: its context. */
ACL_FUNC_VISIBILITY uint64_t ascendAttentionLiveObjects(void);

#ifdef __cplusplus
}
#endif

#endif
