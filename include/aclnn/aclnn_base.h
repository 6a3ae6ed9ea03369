/* SPDX-License-Identifier: Apache-2.0
 * What every aclnn header includes. */
#ifndef ASCEND_ATTENTION_ACLNN_ACLNN_BASE_H
#define ASCEND_ATTENTION_ACLNN_ACLNN_BASE_H

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Not needed: the operators are ready without it. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif
