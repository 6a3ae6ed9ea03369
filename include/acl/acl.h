/* SPDX-License-Identifier: Apache-2.0
 * The acl interface over the simulator; see acl_base.h. */
#ifndef ASCEND_ATTENTION_ACL_ACL_H
#define ASCEND_ATTENTION_ACL_ACL_H

#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface version whose names and values these headers have. */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 13
#define ACL_PATCH_VERSION 0

/* A file that is named must be readable; no setting in it means anything here. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
ACL_FUNC_VISIBILITY aclError aclFinalize(void);
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion);
/* Why the last call of this thread that failed did so, and forgets it; null when none has. The text is valid until this
 * thread asks again. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif
