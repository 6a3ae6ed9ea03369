// SPDX-License-Identifier: Apache-2.0
// What needs neither device nor handle.
#include <exception>
#include <string>

#include "acl/acl.h"
#include "acl/failure.h"
#include "acl/handles.h"
#include "acl/memory.h"
#include "aclnn/aclnn_base.h"
#include "ascend_attention/live_objects.h"
#include "doors/call_settings.h"
#include "numerics/half.h"

using namespace ascend_attention;

size_t aclDataTypeSize(aclDataType dataType) {
    switch (dataType) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
        case ACL_COMPLEX32:
            return 4;
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_DOUBLE:
        case ACL_COMPLEX64:
            return 8;
        case ACL_COMPLEX128:
            return 16;
        default:
            return 0;
    }
}

float aclFloat16ToFloat(aclFloat16 value) { return sim::HalfToFloat(value); }

aclFloat16 aclFloatToFloat16(float value) { return sim::FloatToHalf(value); }

const char* aclrtGetSocName() {
    thread_local std::string name;
    try {
        name = doors::CurrentSettings().run.soc;
        return name.c_str();
    } catch (const std::exception& error) {
        acl::RememberText(error.what());
        return nullptr;
    }
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
    return acl::Guarded([&] {
        if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr) {
            throw acl::Failure(ACL_ERROR_INVALID_PARAM, "a version's place: nullptr");
        }
        *majorVersion = ACL_MAJOR_VERSION;
        *minorVersion = ACL_MINOR_VERSION;
        *patchVersion = ACL_PATCH_VERSION;
    });
}

const char* aclGetRecentErrMsg() { return acl::TakeText(); }

aclnnStatus aclnnInit(const char*) { return OK; }
aclnnStatus aclnnFinalize() { return OK; }

uint64_t ascendAttentionLiveObjects() { return acl::CountHandles() + acl::CountAllocations(); }
